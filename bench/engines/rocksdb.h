/* SPDX-License-Identifier: MIT
 *
 * bench-rocksdb's rows, in files and databases with each kind of filter. Trouble ends the program.
 */
#ifndef BLOOMFILE_BENCH_ROCKSDB_H
#define BLOOMFILE_BENCH_ROCKSDB_H

#include <stdbool.h>

#include "guard.h"

#define MEASURE_KEY_SIZE   16
#define MEASURE_VALUE_SIZE 100

/* Which filters stand in the way of a get. */
enum measure_mode {
    NO_FILTER,
    ROCKSDB_FILTER,
    OUR_FILTER,
    BOTH_FILTERS,
    MODES
};

static inline bool has_rocksdb_filter(enum measure_mode mode)
{
    return mode == ROCKSDB_FILTER || mode == BOTH_FILTERS;
}

static inline bool has_our_filter(enum measure_mode mode)
{
    return mode == OUR_FILTER || mode == BOTH_FILTERS;
}

/* The key of a number, as text that sorts as numbers do. Row i has that of 2 * i, so keys of odd
 * numbers are absent and lie between the others. */
void measure_key(char key[MEASURE_KEY_SIZE], uint64_t number);

/* For all that follows: filters of the layout ribbon, and RocksDB's own of that kind. */
void measure_ribbons(void);

/* Writes the rows as an SST file, with the filters of the mode. Returns the seconds until all is on
 * disk. */
double measure_write(enum measure_mode mode, uint64_t rows);

/* Makes the databases of what was written last. */
void measure_ingest(void);

/* A database as a reader has it. */
struct opened {
    struct guard guard;
    rocksdb_options_t *options;
    double seconds;      /* that opening took */
    uint64_t read_bytes; /* by it, from disks */
};

/* With a block cache that has room for everything, and is empty. */
struct opened measure_open(enum measure_mode mode, uint64_t rows);
void measure_close(struct opened *opened);

/* Reads all rows. */
void measure_warm(const struct opened *opened);

/* Bytes of filters on disk, and bytes that each process has in memory for indexes and filters of
 * RocksDB. */
uint64_t measure_filter_bytes(enum measure_mode mode);
uint64_t measure_process_bytes(const struct opened *opened);

#endif
