/* SPDX-License-Identifier: MIT
 *
 * bench-leveldb: its options, its keys, its two tables.
 */
#ifndef BLOOMFILE_BENCH_LEVELDB_H
#define BLOOMFILE_BENCH_LEVELDB_H

#include <stdbool.h>
#include <stddef.h>
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

#define KEY_SIZE 16

struct key {
    char text[KEY_SIZE];
};

/* `count` different keys in order, to be released by free(): user000000000000 and so on, or random
 * hexadecimal numbers. */
struct key *keys_make(size_t count, bool random);

/* The i-th of a fixed sequence that looks random, below `end`. */
uint64_t scattered(uint64_t i, uint64_t end);

#endif
