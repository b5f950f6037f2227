/* SPDX-License-Identifier: MIT
 *
 * Keys to measure with, and what else the measurements share.
 */
#ifndef KEYS_H
#define KEYS_H

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

double now_ns(void);

/* Sorts them. */
double median(double *values, size_t count);

void *must_have(void *memory);

#endif
