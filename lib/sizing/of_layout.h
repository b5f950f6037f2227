/* SPDX-License-Identifier: MIT
 * The functions that compute the rates of a layout: one struct sizing each. */
#ifndef BLOOMFILE_SIZING_OF_LAYOUT_H
#define BLOOMFILE_SIZING_OF_LAYOUT_H

#include <bloomfile.h>

/* Two absent keys together have so many positions. */
#define SIZING_MAX_PROBES (2 * BLOOMFILE_MAX_HASHES)

/* The chain of sizing/rates.h. uncovered[u]: the probability that u of the cells of one absent key,
 * or of two together, are still uncovered. */
struct rates_cover {
    double uncovered[SIZING_MAX_PROBES + 2];
    double cells;
    uint32_t k; /* positions of the absent key or keys */
};

/* Beyond this many probes a block counts as full, which errs on the safe side. */
#define SIZING_BLOCK_THROWS 4096

/* The rate of a block by its number of keys, for one k; computed as far as needed. */
struct sizing_memo {
    double by_keys[SIZING_BLOCK_THROWS + 1];
    uint32_t known, room;
    uint32_t throws;          /* of each key that is in the block */
    struct rates_cover cover; /* of k 0: nothing is known */
};

/* What the bits of a layout say. A body has m cells, `ones` of them above 0; blocks[i]: so many
 * blocks have i ones; of ribbon as in struct kernel_tally. NULL: cannot be told. */
struct sizing {
    /* The expected rate of n keys in that many units, digests apart. */
    double (*expected)(struct sizing_memo *memo, uint64_t units, uint32_t k, uint64_t n);
    /* The variance of the real rate among filters of n random keys, divided by the square of the
     * expected rate. */
    double (*variance)(uint64_t units, uint32_t k, uint64_t n);
    /* The real rate of a body. */
    double (*measured)(uint64_t m, uint32_t k, uint64_t ones, const uint64_t blocks[513]);
    /* n estimated from the ones (Swamidass & Baldi 2007). Infinite if all bits are one. */
    double (*estimated_keys)(uint64_t m, uint32_t k, uint64_t ones);
    /* The expected rate of that body with `more` further keys. */
    double (*after)(uint64_t m, uint32_t k, uint64_t ones, const uint64_t blocks[513],
                    uint64_t more);
    /* The standard error of the measured rate as an estimate of the average rate for this many
     * keys. */
    double (*standard_error)(uint64_t m, uint32_t k, uint64_t ones, const uint64_t blocks[513]);
};

/* For blocked; for classic and counting, whose positions lie anywhere; for ribbon. */
extern const struct sizing rates_of_blocks;
extern const struct sizing rates_of_cells;
extern const struct sizing rates_of_ribbons;

#endif
