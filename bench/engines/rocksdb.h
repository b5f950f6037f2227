/* SPDX-License-Identifier: MIT
 *
 * What the parts of bench-rocksdb share. Trouble ends the program.
 */
#ifndef BLOOMFILE_BENCH_ROCKSDB_H
#define BLOOMFILE_BENCH_ROCKSDB_H

#include <stdbool.h>

#include "engine.h"
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

/* ---- rocksdb_data.c: the rows */

/* The key of a number, as text that sorts as numbers do. Row i has that of 2 * i, so keys of odd
 * numbers are absent and lie between the others. */
void measure_key(char key[MEASURE_KEY_SIZE], uint64_t number);

/* Writes the rows as an SST file, with the filters of the mode. Returns the seconds until all is on
 * disk. */
double measure_write(enum measure_mode mode, uint64_t rows);

/* Makes the databases of what was written last. */
void measure_ingest(void);

/* ---- rocksdb_open.c: databases as a reader has them */

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

/* ---- rocksdb_gets.c */

struct keys {
    char *bytes;
    struct bloomfile_key *key;
    uint64_t count;
};

/* Keys at random, of rows or between them; others for each seed. */
struct keys measure_keys(uint64_t count, uint64_t rows, bool present, uint64_t seed);
void measure_free_keys(struct keys *keys);

/* How many of the keys have a row. */
typedef uint64_t measure_get(const struct guard *guard, const struct keys *keys);
measure_get measure_get_each, measure_get_batches;

/* Seconds a key. Ends the program if an answer is wrong. */
double measure_time(measure_get *get, const struct guard *guard, const struct keys *keys,
                    bool present);

/* ---- rocksdb_rounds.c: all that is measured, with the modes taking turns */

enum figure {
    WRITE,
    OPEN,
    ONE_ABSENT,
    ONE_PRESENT,
    MANY_ABSENT,
    MANY_PRESENT,
    COLD_OPEN_BYTES,
    COLD_ABSENT_BYTES,
    COLD_PRESENT_BYTES,
    COLD_ABSENT,
    COLD_PRESENT,
    FILTER_BYTES,
    PROCESS_BYTES,
    FIGURES
};

struct measure_options {
    uint64_t rows, gets, cold_gets, rounds;
};

extern double measured[FIGURES][MODES][ENGINE_MAX_ROUNDS];

/* In this order. */
void measure_writes(const struct measure_options *o);
void measure_gets(const struct measure_options *o);
void measure_cold(const struct measure_options *o);

/* ---- rocksdb_table.c */

void measure_print(const struct measure_options *o);

#endif
