/* SPDX-License-Identifier: MIT
 * A cube of figures, by turn, row and figure. */
#include "harness/turns.h"

#include <math.h>
#include <stdlib.h>

#include "harness/bench.h"

struct turns turns_new(size_t rows, size_t figures, size_t turns)
{
    const size_t count = rows * figures * turns;
    struct turns t = { rows, figures, turns, bench_memory(calloc(count, sizeof *t.values)) };
    for (size_t i = 0; i < count; i++)
        t.values[i] = NAN;
    return t;
}

double *turns_at(const struct turns *t, size_t row, size_t figure, size_t turn)
{
    return &t->values[(turn * t->rows + row) * t->figures + figure];
}

struct turns turns_take(size_t rows, size_t figures, size_t turns,
                        void (*measure)(size_t row, double *figures))
{
    struct turns t = turns_new(rows, figures, turns);
    for (size_t turn = 0; turn < turns; turn++)
        for (size_t row = 0; row < rows; row++)
            measure(row, turns_at(&t, row, 0, turn));
    return t;
}

double turns_ratio(const struct turns *t, size_t row, size_t to_row, size_t figure)
{
    double *ratios = bench_memory(malloc(t->turns * sizeof *ratios));
    size_t count = 0;
    for (size_t turn = 0; turn < t->turns; turn++) {
        const double to = to_row == SIZE_MAX ? 1 : *turns_at(t, to_row, figure, turn);
        ratios[count] = *turns_at(t, row, figure, turn) / to;
        count += !isnan(ratios[count]);
    }
    const double median = count > 0 ? bench_median(ratios, count) : NAN;
    free(ratios);
    return median;
}

double turns_median(const struct turns *t, size_t row, size_t figure)
{
    return turns_ratio(t, row, SIZE_MAX, figure);
}

double turns_least(const struct turns *t, size_t row, size_t figure)
{
    double least = NAN;
    for (size_t turn = 0; turn < t->turns; turn++)
        least = fmin(least, *turns_at(t, row, figure, turn));
    return least;
}
