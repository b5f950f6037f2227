/* SPDX-License-Identifier: MIT
 * Key delimiters in words, and the error where keys and filter do not fit. */
#include "filters/framing.h"
#include "cli/cli.h"

#include <bloomfile.h>
#include <bloomfile_inspect.h>
#include <inttypes.h>
#include <stdio.h>

enum {
    DESCRIPTION_SIZE = 64,
    REMEDY_SIZE = 120
};

char *framing_text(char *text, size_t size, uint32_t framing, uint32_t framing_size)
{
    static const char *const names[] = { [BLOOMFILE_FRAMING_UNKNOWN] = "unknown",
                                         [BLOOMFILE_LINES] = "lines",
                                         [BLOOMFILE_LINES_CRLF] = "lines-crlf",
                                         [BLOOMFILE_NULL] = "null" };
    if (framing == BLOOMFILE_FIXED)
        snprintf(text, size, "fixed %" PRIu32, framing_size);
    else if (framing < sizeof(names) / sizeof(names[0]))
        snprintf(text, size, "%s", names[framing]);
    else
        snprintf(text, size, "unknown");
    return text;
}

struct framing {
    uint32_t kind;
    uint64_t size; /* of a record */
};

/* Fields may have the size of a record. */
static struct framing of_keys(const struct keys_options *keys)
{
    if (keys->fields.count > 0)
        return (struct framing){ BLOOMFILE_FRAMING_UNKNOWN, 0 };
    if (keys->null)
        return (struct framing){ BLOOMFILE_NULL, 0 };
    if (keys->record_size > 0)
        return (struct framing){ BLOOMFILE_FIXED, keys->record_size };
    return (struct framing){ keys->crlf ? BLOOMFILE_LINES_CRLF : BLOOMFILE_LINES, 0 };
}

static struct framing of_filter(const bloomfile_filter *f)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(f, &info);
    return (struct framing){ info.framing, info.framing_size };
}

/* Lines and strings that end with a zero byte name the same key bytes. */
static bool differ(struct framing a, struct framing b)
{
    const bool known = a.kind != BLOOMFILE_FRAMING_UNKNOWN && b.kind != BLOOMFILE_FRAMING_UNKNOWN;
    const bool is_fixed = a.kind == BLOOMFILE_FIXED, other_is = b.kind == BLOOMFILE_FIXED;
    return known && (is_fixed != other_is || (is_fixed && a.size != b.size));
}

/* Returns text. */
static const char *describe(char text[DESCRIPTION_SIZE], struct framing f)
{
    if (f.kind != BLOOMFILE_FIXED)
        return "text";
    snprintf(text, DESCRIPTION_SIZE, "%" PRIu64 "-byte records", f.size);
    return text;
}

/* Fields may come from lines of any kind. */
void framing_record(struct bloomfile_params *params, const struct keys_options *keys)
{
    const bool is_plain = !keys->null && !keys->fields.csv;
    struct framing framing = of_keys(keys);
    if (keys->fields.count > 0 && is_plain)
        framing.kind = BLOOMFILE_LINES;
    if (framing.size > BLOOMFILE_MAX_FRAMING_SIZE) /* more than the field holds */
        framing = (struct framing){ BLOOMFILE_FRAMING_UNKNOWN, 0 };
    params->framing = framing.kind;
    params->framing_size = (uint32_t)framing.size;
}

/* Without -x, binary records would be read as lines: no remedy leaves it out. */
static void put_remedy(char remedy[REMEDY_SIZE], enum framing_use use, struct framing recorded,
                       struct framing keys)
{
    if (recorded.kind == BLOOMFILE_FIXED)
        snprintf(remedy, REMEDY_SIZE, "add -x %" PRIu64 ", or --as-is to use the keys unchanged",
                 recorded.size);
    else if (use == FRAMING_ADD)
        snprintf(remedy, REMEDY_SIZE,
                 "create a filter with bfcreate --live -x %" PRIu64
                 ", or add --as-is to use the keys unchanged",
                 keys.size);
    else
        snprintf(remedy, REMEDY_SIZE,
                 "use a filter created with -x %" PRIu64
                 ", or --as-is if its text keys have that length",
                 keys.size);
}

bool framing_explain(const bloomfile_filter *f, const struct keys_options *keys,
                     enum framing_use use, char why[FRAMING_WHY])
{
    const struct framing recorded = of_filter(f), wanted = of_keys(keys);
    char text[2][DESCRIPTION_SIZE], remedy[REMEDY_SIZE];
    const bool is_text = recorded.kind != BLOOMFILE_FIXED;
    if (keys->as_is || !differ(recorded, wanted))
        return false;
    put_remedy(remedy, use, recorded, wanted);
    snprintf(why, FRAMING_WHY, "holds %s%s, but the input is %s (%s)", describe(text[0], recorded),
             is_text ? " keys" : "", describe(text[1], wanted), remedy);
    return true;
}

void framing_check(const char *path, const bloomfile_filter *f, const struct keys_options *keys,
                   enum framing_use use)
{
    char why[FRAMING_WHY];
    if (framing_explain(f, keys, use, why))
        cli_fail(0, "%s %s", path, why);
}

bool framing_compare_filters(const char *path, const bloomfile_filter *f, const char *other_path,
                             const bloomfile_filter *other)
{
    const struct framing a = of_filter(f), b = of_filter(other);
    char text[2][DESCRIPTION_SIZE];
    if (!differ(a, b))
        return false;
    cli_warn(0, "%s holds %s, but %s holds %s: a lookup finds only keys of its own kind", path,
             describe(text[0], a), other_path, describe(text[1], b));
    return true;
}
