/* SPDX-License-Identifier: MIT
 *
 * bench-curve: the false-positive rates of filters of growing size.
 */
#ifndef BLOOMFILE_BENCH_CURVE_H
#define BLOOMFILE_BENCH_CURVE_H

#include "peers/peers.h"

enum {
    CURVE_FEWEST = 4, /* bits a key */
    CURVE_MOST = 24,
    CURVE_STEP = 2,
    CURVE_POINTS = (CURVE_MOST - CURVE_FEWEST) / CURVE_STEP + 1,
    CURVES_MOST = 6,
};

struct curve {
    const struct player *player;
    double bits[CURVE_POINTS]; /* a key: the filter's real size */
    double rate[CURVE_POINTS]; /* measured; NaN: no absent key was taken for present */
};

struct curves {
    uint64_t keys, hits, lookups; /* absent keys are asked for until `hits` or `lookups` */
    unsigned count;
    struct curve of[CURVES_MOST];
};

/* The rate of a filter whose bits are all independent, at its best number of hashes, whole or not.
 */
double curve_ideal(double bits);

/* Of const struct curves. */
void write_curves(FILE *out, const void *curves);

#endif
