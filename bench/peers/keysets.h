/* SPDX-License-Identifier: MIT
 *
 * Keys that follow from their number alone, so that all contenders get the same ones.
 */
#ifndef BLOOMFILE_BENCH_KEYSETS_H
#define BLOOMFILE_BENCH_KEYSETS_H

#include "peers/contender.h"

#define KEYSETS_FORMS 4

/* Room for keys. bench_fail() without memory. keysets_free() takes NULL. */
struct keyset *keysets_new(enum key_form form, size_t room);
void keysets_free(struct keyset *set);

/* Keys first .. first + count - 1. */
void keysets_range(struct keyset *set, uint64_t first, size_t count);

/* `count` of the keys 0 .. below - 1, chosen at random, in random order. */
void keysets_sample(struct keyset *set, uint64_t below, size_t count);

#endif
