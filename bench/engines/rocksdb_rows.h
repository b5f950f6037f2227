/* SPDX-License-Identifier: MIT
 *
 * Rows in RocksDB with filters in front of them, and lookups of their keys. Files are in the
 * current folder.
 */
#ifndef BLOOMFILE_BENCH_ROCKSDB_ROWS_H
#define BLOOMFILE_BENCH_ROCKSDB_ROWS_H

#include <stdbool.h>
#include <stdint.h>

#include "guard.h"

/* The filters that a get passes. */
enum filter_mode {
    NO_FILTER,
    ROCKSDB_FILTER = 1,
    OUR_FILTER = 2,
    BOTH_FILTERS = ROCKSDB_FILTER | OUR_FILTER,
    MODES
};

/* Sets the number of rows for all functions below, and whether both filters are ribbon filters. */
void rows_set(uint64_t count, bool with_ribbon);

/* Writes the SST file and the filters of a mode. Returns seconds. */
double rows_write(enum filter_mode mode);

/* Makes a database of each SST file. */
void rows_ingest(void);

/* A database that is open for reading. */
struct opened {
    struct guard guard;
    rocksdb_options_t *options;
    double seconds;      /* time of opening */
    uint64_t read_bytes; /* bytes that opening read from disks */
};

struct opened rows_open(enum filter_mode mode);
void rows_close(struct opened *o);

/* Reads all rows into the block cache. */
void rows_warm(const struct opened *o);

/* Bytes of filters on disk, and bytes of memory that RocksDB uses for its tables. */
uint64_t rows_filter_bytes(enum filter_mode mode);
uint64_t rows_process_bytes(const struct opened *o);

struct keys {
    char *bytes;
    struct bloomfile_key *key;
    uint64_t count;
};

/* Random keys, of rows or between rows; different keys for each seed. */
struct keys keys_choose(uint64_t count, bool present, uint64_t seed);
void keys_free(struct keys *keys);

/* Returns the number of keys that have a row. */
typedef uint64_t get_all(const struct guard *guard, const struct keys *keys);
get_all keys_get_each, keys_get_batches;

/* Returns seconds for each key. Ends the program if a result is wrong. */
double keys_time(get_all *get, const struct guard *guard, const struct keys *keys, bool present);

#endif
