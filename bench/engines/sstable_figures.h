/* SPDX-License-Identifier: MIT
 *
 * What bench-sstable finds, as a table in Markdown.
 */
#ifndef BLOOMFILE_BENCH_SSTABLE_FIGURES_H
#define BLOOMFILE_BENCH_SSTABLE_FIGURES_H

#include "engine.h"
#include "sstable_sample.h"

enum kind {
    WITHOUT,
    BESIDE,
    INSIDE,
    KINDS
};
enum figure {
    MISS,
    HIT,
    MISS_BATCH,
    HIT_BATCH,
    COLD_OPEN,
    COLD_MISS,
    COLD_HIT,
    FIGURES
};

/* NaN: it could not be found out. */
struct figures {
    double values[KINDS][FIGURES][ENGINE_MAX_ROUNDS];
};

/* Title and head. */
void figures_print_head(const struct sample *s, uint64_t rounds);

/* The medians of all rounds, three lines; sorts the values. */
void figures_print(struct figures *f, const struct sample *s, const char *compression,
                   uint64_t rounds);

#endif
