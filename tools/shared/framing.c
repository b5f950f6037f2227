/* SPDX-License-Identifier: MIT
 * Words for a framing, and the warning where two differ. */
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
    uint32_t kind, size;
};

/* Fields may come from lines of any kind. */
static struct framing of_keys(const struct keys_options *keys)
{
    if (keys->fields.count > 0)
        return (struct framing){ BLOOMFILE_FRAMING_UNKNOWN, 0 };
    if (keys->null)
        return (struct framing){ BLOOMFILE_NULL, 0 };
    if (keys->record_size > BLOOMFILE_MAX_FRAMING_SIZE)
        return (struct framing){ BLOOMFILE_FRAMING_UNKNOWN, 0 };
    if (keys->record_size > 0)
        return (struct framing){ BLOOMFILE_FIXED, (uint32_t)keys->record_size };
    return (struct framing){ keys->crlf ? BLOOMFILE_LINES_CRLF : BLOOMFILE_LINES, 0 };
}

static struct framing of_filter(const bloomfile *f)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(f, &info);
    return (struct framing){ info.framing, info.framing_size };
}

static bool differ(struct framing a, struct framing b)
{
    bool known = a.kind != BLOOMFILE_FRAMING_UNKNOWN && b.kind != BLOOMFILE_FRAMING_UNKNOWN;
    return known && (a.kind != b.kind || a.size != b.size);
}

/* With the option that stands for it. Returns text. */
static const char *describe(char text[DESCRIPTION_SIZE], struct framing f)
{
    switch (f.kind) {
    case BLOOMFILE_FIXED:
        snprintf(text, DESCRIPTION_SIZE, "records of %" PRIu32 " byte%s (-x %" PRIu32 ")", f.size,
                 cli_s(f.size), f.size);
        return text;
    case BLOOMFILE_NULL:
        return "strings that end with a zero byte (-0)";
    case BLOOMFILE_LINES_CRLF:
        return "lines without their carriage returns (--crlf)";
    default:
        return "lines";
    }
}

void framing_record(struct bloomfile_params *params, const struct keys_options *keys)
{
    const bool is_plain = keys->fields.count > 0 && !keys->null && !keys->fields.csv;
    const struct framing framing =
        is_plain ? (struct framing){ BLOOMFILE_LINES, 0 } : of_keys(keys);
    params->framing = framing.kind;
    params->framing_size = framing.size;
}

void framing_compare(const char *path, const bloomfile *f, const struct keys_options *keys)
{
    const struct framing recorded = of_filter(f), wanted = of_keys(keys);
    char text[2][DESCRIPTION_SIZE];
    if (differ(recorded, wanted))
        cli_warn(0, "%s was made for %s, but these keys are %s: what is in it may look absent",
                 path, describe(text[0], recorded), describe(text[1], wanted));
}

bool framing_compare_filters(const char *path, const bloomfile *f, const char *other_path,
                             const bloomfile *other)
{
    const struct framing a = of_filter(f), b = of_filter(other);
    char text[2][DESCRIPTION_SIZE];
    if (!differ(a, b))
        return false;
    cli_warn(0,
             "%s was made for %s, but %s for %s: whichever way they are asked together, what is in"
             " one of them may look absent",
             path, describe(text[0], a), other_path, describe(text[1], b));
    return true;
}
