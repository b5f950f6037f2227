/* SPDX-License-Identifier: MIT
 * Filters that cannot be made: the size that follows from -n and -p, and the least rate that
 * digests of 64 bits allow. */
#include "filters/too_large.h"
#include "cli/cli.h"

#include <bloomfile_inspect.h>
#include <bloomfile_live.h>

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>

static const double default_fpr = 0.01;

/* That of one layer: the first one of a filter that grows has an eighth of it. */
static double rate_of(const struct bloomfile_params *p)
{
    const double fpr = p->fpr > 0 ? p->fpr : default_fpr;
    return p->series == BLOOMFILE_GROW ? fpr / 8 : p->series > 0 ? fpr / p->series : fpr;
}

double too_large_bytes(const struct bloomfile_params *p)
{
    const uint32_t layout = p->layout != 0 ? p->layout : BLOOMFILE_BLOCKED;
    const struct bloomfile_traits *traits = bloomfile_traits_of(layout);
    const uint64_t bits =
        p->bits > 0 ? p->bits : bloomfile_bits_for(layout, p->capacity, rate_of(p), p->hashes);
    const double filters = p->series > 1 && p->series != BLOOMFILE_GROW ? p->series : 1;
    return filters * (double)bits * traits->cell_bits / 8;
}

static bool explain_size(const struct bloomfile_params *p, char *text)
{
    char size[32];
    const double bytes = too_large_bytes(p);
    if (bytes <= 0 || bytes >= 0x1p63 || (p->capacity == 0 && p->bits == 0))
        return false;
    snprintf(text, TOO_LARGE_TEXT, "-%c %" PRIu64 " needs %s", p->bits > 0 ? 'm' : 'n',
             p->bits > 0 ? p->bits : p->capacity, cli_bytes(size, sizeof(size), (uint64_t)bytes));
    return true;
}

/* So many keys have so many of all 2^64 digests, whatever the size. */
static bool explain_rate(const struct bloomfile_params *p, char *text)
{
    char rate[32];
    const uint64_t keys = p->capacity > 0 ? p->capacity : 1;
    const double share = rate_of(p) / (p->fpr > 0 ? p->fpr : default_fpr);
    const double least = (double)keys / 0x1p64;
    if (p->bits > 0 || rate_of(p) >= least)
        return false;
    snprintf(text, TOO_LARGE_TEXT,
             "the lowest rate for %" PRIu64 " key%s is %s (their number / 2^64)", keys, cli_s(keys),
             cli_percent(rate, sizeof(rate), least / share));
    return true;
}

bool too_large_explain(const struct bloomfile_params *params, int error, char text[TOO_LARGE_TEXT])
{
    switch (error) {
    case ENOMEM:
    case ENOSPC:
    case EFBIG:
    case EDQUOT:
        return explain_size(params, text);
    case BLOOMFILE_EUNREACHABLE:
        return explain_rate(params, text);
    default:
        return false;
    }
}
