/* SPDX-License-Identifier: MIT
 *
 * The report's part about a series, which a single filter does not have.
 */
#ifndef TOOLS_BFINSPECT_SERIES_TABLE_H
#define TOOLS_BFINSPECT_SERIES_TABLE_H

#include "bfinspect/inspect.h"

/* Rows: whether it grows or forgets, and how long a generation lasts. Nothing of a single filter.
 */
void table_kind(FILE *out, const struct inspect_report *r);

/* "7", or of layers that differ, "7 to 10". Returns text. */
char *table_hashes(char *text, size_t size, const struct inspect_report *r);

/* A line for each layer. */
void table_layers(FILE *out, const struct inspect_report *r, bool utf8);

#endif
