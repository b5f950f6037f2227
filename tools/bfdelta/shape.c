/* SPDX-License-Identifier: MIT
 * Remedies if a patch between two filters is impossible: which filter to rebuild, with
 * which options. */
#include "bfdelta/shape.h"
#include "cli/cli.h"

#include <bloomfile_inspect.h>

#include <inttypes.h>
#include <stdio.h>

enum {
    WHY_SIZE = 9000, /* includes two paths */
    ADVICE_SIZE = 5000
};

bool shape_is_to_blame(int error)
{
    return error == BLOOMFILE_EDIFFERENTLAYOUT || error == BLOOMFILE_EDIFFERENTHASH ||
           error == BLOOMFILE_EDIFFERENTHASHCOUNT || error == BLOOMFILE_EDIFFERENTSEED ||
           error == BLOOMFILE_EDIFFERENTBITS || error == BLOOMFILE_EDIFFERENTFORM;
}

static const char *kind_of(const struct bloomfile_info *info)
{
    return info->layers > 0 ? "a series of layers" : "one filter";
}

/* Whether bfcreate, with these numbers as options, builds a filter of this shape. */
static bool is_of_bfcreate(const struct bloomfile_info *info)
{
    return info->layers == 0 && info->whole_blocks == 0 && info->hash_id < BLOOMFILE_APP_HASH_FIRST;
}

_Noreturn void shape_fail(int error, const char *old_name, const bloomfile_filter *old,
                          const char *new_name, const bloomfile_filter *new)
{
    struct bloomfile_info a = BLOOMFILE_INFO_INIT, b = BLOOMFILE_INFO_INIT;
    char why[WHY_SIZE], advice[ADVICE_SIZE];
    bloomfile_get_info(old, &a);
    bloomfile_get_info(new, &b);
    const bool bits = error == BLOOMFILE_EDIFFERENTBITS;
    snprintf(why, sizeof(why), "%s", bloomfile_strerror(error));
    snprintf(advice, sizeof(advice), "copy %s instead", new_name);
    if ((a.layers > 0) != (b.layers > 0))
        snprintf(why, sizeof(why), "%s is %s, and %s is %s", old_name, kind_of(&a), new_name,
                 kind_of(&b));
    else if (bits && a.layers > 0)
        snprintf(why, sizeof(why), "their layers differ in number or size");
    else if (bits && a.whole_blocks + b.whole_blocks > 0) {
        snprintf(why, sizeof(why), "a patch needs two versions of the same slice");
        snprintf(advice, sizeof(advice), "see the blocks of each with bfinspect");
    } else if (is_of_bfcreate(&a) && error != BLOOMFILE_EDIFFERENTFORM &&
               error != BLOOMFILE_EDIFFERENTHASH)
        snprintf(advice, sizeof(advice),
                 "build NEW like OLD: bfcreate -l %s -m %" PRIu64 " -k %" PRIu32 " -s %" PRIu64,
                 bloomfile_layout_name(a.layout), a.bits, a.hashes, a.seed);
    cli_fail(0, "cannot make a patch from %s to %s: %s (%s)", old_name, new_name, why, advice);
}
