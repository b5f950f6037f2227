/* SPDX-License-Identifier: MIT
 *
 * The slow store behind the guard: a file of sorted order numbers, each on a line, searched with
 * pread(). It grows only at its end, by one process at a time. An error ends the program.
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
    unsigned delay_us; /* extra time of a call, to simulate a slow store */
};

struct order order_from_number(uint64_t number);
uint64_t order_to_number(struct order order);

/* Opens the store for this process and its children. Creates it if it does not exist. */
struct store store_open(const char *path, unsigned delay_us);

uint64_t store_count(const struct store *s);

/* Reads orders first .. first + count - 1. */
void store_read(const struct store *s, uint64_t first, struct order *orders, size_t count);

/* Whether an order is among the first `count` orders. This is not a call, so it has no delay. */
bool store_has_among(const struct store *s, uint64_t count, struct order order);

/* A call: whether the store has an order. */
bool store_has(const struct store *s, struct order order);

/* Adds orders with ascending numbers above the last order. They are on disk on return. */
void store_append(const struct store *s, const struct order *orders, size_t count);

/* Makes orders with numbers above the last order. On average, one number in ten is an order. */
void store_make_orders(const struct store *s, struct order *orders, size_t count);

#endif
