/* SPDX-License-Identifier: MIT
 *
 * The number of new lines that the filter took for repeated ones: an estimate from its rate while
 * they came.
 */
#ifndef TOOLS_BFUNIQ_LOST_LINES_H
#define TOOLS_BFUNIQ_LOST_LINES_H

#include <bloomfile.h>

struct lost {
    double rate;          /* when it was last computed */
    uint64_t found, next; /* new lines since then, and how many make it worth computing again */
    double lines;         /* the estimate, up to then */
};

/* Begins with the filter before the first line. */
void lost_begin(struct lost *l, const bloomfile *f);

/* Call after each batch, with the number of lines in it that the filter has found to be new. */
void lost_watch(struct lost *l, const bloomfile *f, uint64_t found);

/* The estimate, once there are no more lines. */
double lost_lines(struct lost *l, const bloomfile *f);

#endif
