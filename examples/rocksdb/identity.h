/* SPDX-License-Identifier: MIT
 *
 * The identity of a set: a 128-bit hash over all of its rows, in the order of their keys. Sets with
 * the same rows have the same identity, others do not.
 */
#ifndef IDENTITY_H
#define IDENTITY_H

#include <bloomfile.h>

#include <stdbool.h>

#define IDENTITY_DIGITS (2 * BLOOMFILE_TAG_SIZE)

struct identity {
    uint8_t bytes[BLOOMFILE_TAG_SIZE];
};

struct identity_maker;

struct identity_maker *identity_begin(void);
void identity_add(struct identity_maker *maker, const struct bloomfile_key *key,
                  const struct bloomfile_key *value);

/* Releases the maker. */
struct identity identity_end(struct identity_maker *maker);

bool identity_equal(const struct identity *a, const struct identity *b);

void identity_print(const struct identity *identity, char text[IDENTITY_DIGITS + 1]);

/* Reads the digits that text begins with. false if there are too few. */
bool identity_parse(const char *text, struct identity *identity);

#endif
