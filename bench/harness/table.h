/* SPDX-License-Identifier: MIT
 *
 * Tables in Markdown, as wide as their cells need; and verdicts, which make the exit status.
 */
#ifndef BLOOMFILE_BENCH_TABLE_H
#define BLOOMFILE_BENCH_TABLE_H

#include <stdbool.h>

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

#endif
