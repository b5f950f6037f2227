/* SPDX-License-Identifier: MIT
 * Kinds of keys in words, and the error if keys do not fit a filter. */
#include "filters/key_kind.h"
#include "cli/cli.h"

#include <bloomfile.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum {
    DESCRIPTION_SIZE = 64,
    REMEDY_SIZE = 200
};

const char *key_kind_name(const struct bloomfile_info *info)
{
    const bool newer = bloomfile_check_keys(info, BLOOMFILE_KEYS_TEXT, 0) == BLOOMFILE_EFEATURE;
    return newer ? "newer" : bloomfile_key_kind_name(info->key_kind);
}

char *key_kind_text(char text[KEY_KIND_ROOM], const struct bloomfile_info *info)
{
    const char *name = key_kind_name(info);
    if (strcmp(name, "fixed") == 0)
        snprintf(text, KEY_KIND_ROOM, "%s %" PRIu32, name, info->key_size);
    else
        snprintf(text, KEY_KIND_ROOM, "%s", name);
    return text;
}

struct kind {
    uint32_t kind;
    uint64_t size; /* the size of a record */
};

/* Classifies the keys to be read. Hexadecimal keys without a fixed size get the size UINT64_MAX,
 * which fits only filters of byte strings or of an unknown kind. */
static struct kind of_keys(const struct keys_options *keys)
{
    const struct key_form *form = &keys->key_form;
    if (form->integers)
        return (struct kind){ BLOOMFILE_KEYS_INTEGERS, 0 };
    if (form->hex)
        return (struct kind){ BLOOMFILE_KEYS_FIXED,
                              form->key_size > 0 ? form->key_size : UINT64_MAX };
    if (form->lower || form->domains)
        return (struct kind){ BLOOMFILE_KEYS_LOWER, 0 };
    if (keys->fields.count > 0 || keys->record_size == 0)
        return (struct kind){ BLOOMFILE_KEYS_TEXT, 0 };
    return (struct kind){ BLOOMFILE_KEYS_FIXED, keys->record_size };
}

/* Returns text. */
static const char *describe(char text[DESCRIPTION_SIZE], struct kind k)
{
    static const char *const names[] = { [BLOOMFILE_KEYS_TEXT] = "text",
                                         [BLOOMFILE_KEYS_LOWER] = "lower-case text",
                                         [BLOOMFILE_KEYS_INTEGERS] = "integers",
                                         [BLOOMFILE_KEYS_FIXED] = "byte strings",
                                         [BLOOMFILE_KEYS_BYTES] = "byte strings" };
    if (k.kind != BLOOMFILE_KEYS_FIXED || k.size == UINT64_MAX)
        return names[k.kind];
    snprintf(text, DESCRIPTION_SIZE, "%" PRIu64 "-byte records", k.size);
    return text;
}

bool key_kind_folds(const bloomfile_filter *f, const struct keys_options *keys)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(f, &info);
    return info.key_kind == BLOOMFILE_KEYS_LOWER && key_form_option(&keys->key_form) == NULL;
}

void key_kind_fold(const bloomfile_filter *f, struct keys_options *keys)
{
    if (key_kind_folds(f, keys))
        keys->key_form.lower = true;
}

void key_kind_record(struct bloomfile_params *params, const struct keys_options *keys)
{
    const struct kind kind = of_keys(keys);
    const bool is_large = kind.size > BLOOMFILE_MAX_KEY_SIZE;
    params->key_kind = is_large ? BLOOMFILE_KEYS_BYTES : kind.kind;
    params->key_size = is_large ? 0 : (uint32_t)kind.size;
}

/* A remedy never turns the error into a wrong "no": binary records are not read as lines, and
 * --as-is has its condition. -x refuses lines of text (input_type_judge()). */
static void put_remedy(char remedy[REMEDY_SIZE], enum key_kind_use use, struct kind recorded,
                       const struct keys_options *keys)
{
    const char *option = key_form_option(&keys->key_form);
    const bool is_given = keys->given_count > 0 && option == NULL;
    const bool is_fixed = recorded.kind == BLOOMFILE_KEYS_FIXED;
    if (recorded.kind == BLOOMFILE_KEYS_INTEGERS && is_given)
        snprintf(remedy, REMEDY_SIZE, "add --integers for a key such as 42");
    else if (recorded.kind == BLOOMFILE_KEYS_INTEGERS)
        snprintf(remedy, REMEDY_SIZE, "add --integers");
    else if (recorded.kind == BLOOMFILE_KEYS_BYTES)
        snprintf(remedy, REMEDY_SIZE, "add --hex for %s, or --as-is if the keys are text",
                 is_given ? "a key such as 00ff" : "hexadecimal keys");
    else if (is_fixed && keys->record_size > 0)
        snprintf(remedy, REMEDY_SIZE, "use -x %" PRIu64, recorded.size);
    else if (is_fixed && keys->key_form.integers && recorded.size == 8)
        snprintf(remedy, REMEDY_SIZE, "--as-is if they hold little-endian integers");
    else if (is_fixed && keys->key_form.integers)
        snprintf(remedy, REMEDY_SIZE, "use a filter created with %s", option);
    else if (is_fixed)
        snprintf(remedy, REMEDY_SIZE,
                 "add --hex --key-size %" PRIu64 " for hexadecimal keys%s, or --as-is if each key "
                 "has %" PRIu64 " bytes",
                 recorded.size,
                 keys->fields.count == 0 && option == NULL && !is_given ? ", -x for binary records"
                                                                        : "",
                 recorded.size);
    else if (option != NULL)
        snprintf(remedy, REMEDY_SIZE,
                 "if its keys were added as written, leave out %s; else use a filter created with "
                 "%s",
                 option, option);
    else if (use == KEY_KIND_ADD)
        snprintf(remedy, REMEDY_SIZE,
                 "create a filter with bfcreate --live -x %zu, or add --as-is to use the keys "
                 "unchanged",
                 keys->record_size);
    else
        snprintf(remedy, REMEDY_SIZE,
                 "use a filter created with -x %zu, or --as-is if its text keys have that length",
                 keys->record_size);
}

bool key_kind_explain(const bloomfile_filter *f, const struct keys_options *keys,
                      enum key_kind_use use, char why[KEY_KIND_WHY])
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    const struct kind wanted = of_keys(keys);
    char text[2][DESCRIPTION_SIZE], remedy[REMEDY_SIZE];
    bloomfile_get_info(f, &info);
    const struct kind recorded = { info.key_kind, info.key_size };
    const int error = bloomfile_check_keys(&info, wanted.kind, wanted.size);
    if (error == 0 || (keys->as_is && error == BLOOMFILE_EKEYKIND))
        return false;
    if (error != BLOOMFILE_EKEYKIND) {
        snprintf(why, KEY_KIND_WHY,
                 "holds keys of a kind that this version does not know (update bloomfile)");
        return true;
    }
    put_remedy(remedy, use, recorded, keys);
    snprintf(why, KEY_KIND_WHY, "holds %s%s, but the %s %s (%s)", describe(text[0], recorded),
             recorded.kind <= BLOOMFILE_KEYS_LOWER ? " keys" : "",
             keys->given_count > 0 ? "keys of -e are" : "input is", describe(text[1], wanted),
             remedy);
    return true;
}

void key_kind_check(const char *path, const bloomfile_filter *f, const struct keys_options *keys,
                    enum key_kind_use use)
{
    char why[KEY_KIND_WHY];
    if (key_kind_explain(f, keys, use, why))
        cli_fail(0, "%s %s", path, why);
}
