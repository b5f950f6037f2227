/* SPDX-License-Identifier: MIT
 * Words for key delimiters, and the error where keys and filter do not fit. */
#include "shared/framing.h"
#include "shared/cli.h"

#include <bloomfile.h>
#include <bloomfile_inspect.h>
#include <inttypes.h>
#include <stdio.h>

enum {
    DESCRIPTION_SIZE = 64
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

static struct framing of_keys(const struct keys_options *keys)
{
    if (keys->null)
        return (struct framing){ BLOOMFILE_NULL, 0 };
    if (keys->record_size > 0)
        return (struct framing){ BLOOMFILE_FIXED, keys->record_size };
    return (struct framing){ keys->crlf ? BLOOMFILE_LINES_CRLF : BLOOMFILE_LINES, 0 };
}

static struct framing of_filter(const bloomfile *f)
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
    snprintf(text, DESCRIPTION_SIZE, "records of %" PRIu64 " byte%s", f.size, cli_s(f.size));
    return text;
}

/* Fields may come from lines of any kind. */
void framing_record(struct bloomfile_params *params, const struct keys_options *keys)
{
    const bool is_plain = !keys->null && !keys->fields.csv;
    struct framing framing = of_keys(keys);
    if (keys->fields.count > 0)
        framing = (struct framing){ is_plain ? BLOOMFILE_LINES : BLOOMFILE_FRAMING_UNKNOWN, 0 };
    if (framing.size > BLOOMFILE_MAX_FRAMING_SIZE) /* more than the field holds */
        framing = (struct framing){ BLOOMFILE_FRAMING_UNKNOWN, 0 };
    params->framing = framing.kind;
    params->framing_size = (uint32_t)framing.size;
}

bool framing_explain(const bloomfile *f, const struct keys_options *keys, char why[FRAMING_WHY])
{
    const struct framing recorded = of_filter(f), wanted = of_keys(keys);
    char text[2][DESCRIPTION_SIZE], remedy[DESCRIPTION_SIZE];
    if (keys->as_is || !differ(recorded, wanted))
        return false;
    if (recorded.kind == BLOOMFILE_FIXED)
        snprintf(remedy, sizeof(remedy), "-x %" PRIu64 " reads such records", recorded.size);
    else
        snprintf(remedy, sizeof(remedy), "leave out -x %zu", keys->record_size);
    snprintf(why, FRAMING_WHY,
             "holds %s, but these keys are %s, and none would match (%s, or --as-is to use them "
             "all the same)",
             describe(text[0], recorded), describe(text[1], wanted), remedy);
    return true;
}

void framing_check(const char *path, const bloomfile *f, const struct keys_options *keys)
{
    char why[FRAMING_WHY];
    if (framing_explain(f, keys, why))
        cli_fail(0, "%s %s", path, why);
}

bool framing_compare_filters(const char *path, const bloomfile *f, const char *other_path,
                             const bloomfile *other)
{
    const struct framing a = of_filter(f), b = of_filter(other);
    char text[2][DESCRIPTION_SIZE];
    if (!differ(a, b))
        return false;
    cli_warn(0, "%s holds %s, but %s holds %s: a lookup of either kind finds only its own keys",
             path, describe(text[0], a), other_path, describe(text[1], b));
    return true;
}
