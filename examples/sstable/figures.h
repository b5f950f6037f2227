/* SPDX-License-Identifier: MIT
 *
 * What sstable-measure finds, as a table in Markdown.
 */
#ifndef FIGURES_H
#define FIGURES_H

#include "sample.h"

enum {
    MAX_ROUNDS = 99
};

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
    double values[KINDS][FIGURES][MAX_ROUNDS];
};

void figures_print_head(void);

/* The medians of all rounds, three lines; sorts the values. */
void figures_print(struct figures *f, const struct sample *s, const char *compression,
                   uint64_t rounds);

#endif
