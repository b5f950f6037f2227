/* SPDX-License-Identifier: MIT
 *
 * What the parts of rocksdb-measure share. Trouble ends the program.
 */
#ifndef MEASURE_H
#define MEASURE_H

#include "guard.h"

#include <stdbool.h>

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

/* ---- measure_folder.c: a folder for the files */

/* "<in>/rocksdb-measure.XXXXXX", in $TMPDIR or /tmp if `in` is NULL. It is gone soon after the
 * program has ended, however that came. */
void measure_make_folder(const char *in);

/* The path of something in it, from malloc(). */
char *measure_path(const char *name);

/* Takes a file out of the page cache. Adds its pages, and those that stayed. */
void measure_evict_file(const char *path, uint64_t *pages, uint64_t *stayed);

/* Bytes this process has had read from disks; 0 if the system does not tell. */
uint64_t measure_read_bytes(void);

double measure_now(void);

/* ---- measure_data.c: the rows */

/* The key of a number, as text that sorts as numbers do. Row i has that of 2 * i, so keys of odd
 * numbers are absent and lie between the others. */
void measure_key(char key[MEASURE_KEY_SIZE], uint64_t number);

/* Writes the rows as an SST file, with the filters of the mode. Returns the seconds until all is on
 * disk. */
double measure_write(enum measure_mode mode, uint64_t rows);

/* Makes the databases of what was written last. */
void measure_ingest(void);

/* ---- measure_open.c: databases as a reader has them */

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

/* Takes the database and the filter out of the page cache. Returns the share of pages that stayed.
 */
double measure_evict(void);

/* Bytes of filters on disk, and bytes that each process has in memory for indexes and filters of
 * RocksDB. */
uint64_t measure_filter_bytes(enum measure_mode mode);
uint64_t measure_process_bytes(const struct opened *opened);

/* ---- measure_gets.c */

struct keys {
    char *bytes;
    struct bloomfile_key *key;
    uint64_t count;
};

/* Keys at random, of rows or between them. */
struct keys measure_keys(uint64_t count, uint64_t rows, bool present);
void measure_free_keys(struct keys *keys);

/* How many of the keys have a row. */
typedef uint64_t measure_get(const struct guard *guard, const struct keys *keys);
measure_get measure_get_each, measure_get_batches;

/* Seconds a key. Ends the program if an answer is wrong. */
double measure_time(measure_get *get, const struct guard *guard, const struct keys *keys,
                    bool present);

/* ---- measure_rounds.c: all that is measured, with the modes taking turns */

#define MEASURE_MAX_ROUNDS 101

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
    uint64_t rows, gets, cold_gets;
    unsigned rounds;
    const char *folder;
};

extern double measured[FIGURES][MODES][MEASURE_MAX_ROUNDS];

/* In this order. */
void measure_writes(const struct measure_options *o);
void measure_gets(const struct measure_options *o);

/* Returns the greatest share of pages that could not be evicted. */
double measure_cold(const struct measure_options *o);

/* ---- measure_table.c */

void measure_print(const struct measure_options *o, double stayed);

#endif
