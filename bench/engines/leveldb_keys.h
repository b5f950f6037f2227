/* SPDX-License-Identifier: MIT
 *
 * Keys to measure LevelDB with.
 */
#ifndef BLOOMFILE_BENCH_LEVELDB_KEYS_H
#define BLOOMFILE_BENCH_LEVELDB_KEYS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

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
