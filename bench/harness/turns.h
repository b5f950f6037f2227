/* SPDX-License-Identifier: MIT
 *
 * Figures of rows that take turns, so that a busy machine slows all alike. A ratio is the median of
 * the ratios of the turns.
 */
#ifndef BLOOMFILE_BENCH_TURNS_H
#define BLOOMFILE_BENCH_TURNS_H

#include <stddef.h>

struct turns {
    size_t rows, figures, turns;
    double *values;
};

/* Room for figures of so many rows and turns, NaN until they are set; free() the values. */
struct turns turns_new(size_t rows, size_t figures, size_t turns);
double *turns_at(const struct turns *t, size_t row, size_t figure, size_t turn);

/* In each turn measures every row once. */
struct turns turns_take(size_t rows, size_t figures, size_t turns,
                        void (*measure)(size_t row, double *figures));

/* Over the turns in which there is a figure; NaN if there is none. */
double turns_median(const struct turns *t, size_t row, size_t figure);
double turns_least(const struct turns *t, size_t row, size_t figure);
double turns_ratio(const struct turns *t, size_t row, size_t to_row, size_t figure);

#endif
