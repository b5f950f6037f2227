/* SPDX-License-Identifier: MIT
 *
 * The slow store that the guard stands before: a file of order numbers, one a line, sorted,
 * searched with pread(). It grows at its end only, by one process at a time. Trouble ends the
 * program.
 */
#ifndef STORE_H
#define STORE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define STORE_DIGITS 15

/* A line of the file. The digits alone are the key. */
struct order {
    char digits[STORE_DIGITS];
    char newline;
};

struct store {
    const char *path;
    int fd;
    unsigned delay_us; /* how much longer a call takes than this machine's disk needs for it */
};

struct order order_from_number(uint64_t number);
uint64_t order_to_number(struct order order);

/* Opens the store, for this process and its children; makes it if there is none. */
struct store store_open(const char *path, unsigned delay_us);

uint64_t store_count(const struct store *s);

/* Reads orders first .. first + count - 1. */
void store_read(const struct store *s, uint64_t first, struct order *orders, size_t count);

/* Whether an order is among the first `count`. Reads the disk, but is not a call: no delay. */
bool store_has_among(const struct store *s, uint64_t count, struct order order);

/* A call: whether the store has an order. */
bool store_has(const struct store *s, struct order order);

/* Adds orders, whose numbers must ascend from the last one's. They are on disk when it returns. */
void store_append(const struct store *s, const struct order *orders, size_t count);

/* New ones, with numbers after the last one's: one number in ten is an order. */
void store_make_orders(const struct store *s, struct order *orders, size_t count);

#endif
