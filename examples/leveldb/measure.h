/* SPDX-License-Identifier: MIT
 *
 * The two tables of leveldb-measure.
 */
#ifndef MEASURE_H
#define MEASURE_H

#include <stdbool.h>

#define MAX_ROUNDS 99

struct measure_options {
    unsigned bits_per_key;
    unsigned rounds;
    unsigned rows, value_size; /* of each database */
    unsigned warm, cold;       /* gets a round */
    unsigned filters;          /* made a round */
    bool sequential;           /* keys, not random */
};

/* The current directory is for databases. */
void measure_databases(const struct measure_options *o);
void measure_filters(const struct measure_options *o);

#endif
