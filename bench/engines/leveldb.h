/* SPDX-License-Identifier: MIT
 *
 * The two tables of bench-leveldb.
 */
#ifndef BLOOMFILE_BENCH_LEVELDB_H
#define BLOOMFILE_BENCH_LEVELDB_H

#include <stdint.h>

struct measure_options {
    uint64_t bits_per_key;
    uint64_t rounds;
    uint64_t rows, value_size; /* of each database */
    uint64_t warm, cold;       /* gets a round */
    uint64_t filters;          /* made a round */
    uint64_t sequential;       /* keys, not random; else 0 */
};

/* The current directory is for databases. */
void measure_databases(const struct measure_options *o);
void measure_filters(const struct measure_options *o);

#endif
