/* SPDX-License-Identifier: MIT
 * The estimated number of lost lines. A new line is lost with a chance of `rate`, so each line that
 * was found stands for rate / (1 - rate) lost ones. */
#include "bfuniq/lost_lines.h"

#include <bloomfile_inspect.h>

enum {
    LEAST_STEP = 1024, /* lines */
    STEPS = 64 /* while their number doubles: the rate changes little from one to the next */
};

/* `more`: keys that are not counted, as their bits were set. The bits are those of all. */
static double rate_of(const bloomfile *layer, double more)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(layer, &info);
    return bloomfile_fpr_for(info.layout, info.bits, info.hashes, info.keys + (uint64_t)more);
}

/* By the number of keys; of a series, that any layer has the line. */
static double rate_now(const bloomfile *f, double lost)
{
    const size_t layers = bloomfile_layers(f);
    double none = layers == 0 ? 1 - rate_of(f, lost) : 1;
    for (size_t i = 0; i < layers; i++)
        none *= 1 - rate_of(bloomfile_layer(f, i), 0);
    return 1 - none;
}

void lost_begin(struct lost *l, const bloomfile *f)
{
    *l = (struct lost){ .rate = rate_now(f, 0), .next = LEAST_STEP };
}

static void add_up(struct lost *l, const bloomfile *f)
{
    const double now = rate_now(f, l->lines), rate = (l->rate + now) / 2;
    l->lines += rate < 1 ? (double)l->found * rate / (1 - rate) : 0;
    l->rate = now;
    l->found = 0;
}

void lost_watch(struct lost *l, const bloomfile *f, uint64_t found)
{
    l->found += found;
    if (l->found < l->next)
        return;
    add_up(l, f);
    l->next += l->next / STEPS;
}

double lost_lines(struct lost *l, const bloomfile *f)
{
    add_up(l, f);
    return l->lines;
}
