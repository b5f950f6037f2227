/* SPDX-License-Identifier: MIT
 *
 * Tables in Markdown with columns as wide as their cells; verdicts, which decide the exit status;
 * and figures of rows that take turns, so that other load on the machine slows all rows.
 */
#ifndef BLOOMFILE_BENCH_TABLE_H
#define BLOOMFILE_BENCH_TABLE_H

#include <stdbool.h>
#include <stddef.h>

/* Starts a table with these heads. '|' separates cells, here and below. A head that begins with '>'
 * belongs to a column of numbers, which are right-aligned. */
void table_start(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Add cells to the current row. table_row() ends the row. */
void table_cells(const char *format, ...) __attribute__((format(printf, 1, 2)));
void table_row(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints the table and an empty line. Calls bench_fail() on an error. */
void table_end(void);

/* The number as text; "" if it is NaN. The text stays valid for the next 32 calls. */
const char *table_number(double value, int decimals);

/* Returns "ok" or "MISSED", and records a missed target. */
const char *table_verdict(bool kept);

/* The exit status: 1 if a verdict was MISSED, otherwise 0. */
int table_status(void);

struct turns {
    size_t rows, figures, turns;
    double *values;
};

/* Makes room for the figures of all rows and turns, which are NaN until they are set. Release the
 * values by free(). */
struct turns turns_new(size_t rows, size_t figures, size_t turns);
double *turns_at(const struct turns *t, size_t row, size_t figure, size_t turn);

/* Measures every row once in each turn. */
struct turns turns_take(size_t rows, size_t figures, size_t turns,
                        void (*measure)(size_t row, double *figures));

/* The median over the turns with the figure, or NaN. A ratio is the median of the turns' ratios. */
double turns_median(const struct turns *t, size_t row, size_t figure);
double turns_ratio(const struct turns *t, size_t row, size_t to_row, size_t figure);

#endif
