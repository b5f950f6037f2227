/* SPDX-License-Identifier: MIT
 *
 * Tables in Markdown, as wide as their cells need; verdicts, which make the exit status; and
 * figures of rows that take turns, so that a busy machine slows all of them.
 */
#ifndef BLOOMFILE_BENCH_TABLE_H
#define BLOOMFILE_BENCH_TABLE_H

#include <stdbool.h>
#include <stddef.h>

/* Starts a table with these heads. Cells are separated by '|', here and below; a head that begins
 * with '>' is one of numbers, on the right. */
void table_start(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Cells of the current row; table_row() ends it. */
void table_cells(const char *format, ...) __attribute__((format(printf, 1, 2)));
void table_row(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Prints the table, and an empty line. bench_fail() if that cannot be done. */
void table_end(void);

/* The number for a cell; "" if it is NaN. Good for the next 32 calls. */
const char *table_number(double value, int decimals);

/* "ok", or "MISSED", which is remembered. */
const char *table_verdict(bool kept);

/* The exit status: whether a verdict was MISSED. */
int table_status(void);

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

/* Over the turns in which there is a figure; NaN if there is none. A ratio is the median of the
 * ratios of the turns. */
double turns_median(const struct turns *t, size_t row, size_t figure);
double turns_ratio(const struct turns *t, size_t row, size_t to_row, size_t figure);

#endif
