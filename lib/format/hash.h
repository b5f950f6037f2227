/* SPDX-License-Identifier: MIT
 * The hash that turns a key into a digest (format-spec.md, section 9). XXH3 is inlined, because a
 * call would take longer than hashing a short key. */
#ifndef BLOOMFILE_HASH_H
#define BLOOMFILE_HASH_H

#define XXH_INLINE_ALL
#include <bloomfile.h>
#include <stdbool.h>
#include <xxhash.h>

#define HASH_XXH3_64           1u
#define HASH_APPLICATIONS_FROM 0x80000000u

static inline bool hash_is_applications(uint32_t hash_id)
{
    return hash_id >= HASH_APPLICATIONS_FROM;
}

static inline uint64_t hash_key(uint64_t seed, const void *key, size_t size)
{
    return XXH3_64bits_withSeed(key, size, seed);
}

/* The header's self_test. A reader that hashes differently gets another value, and refuses the
 * file. */
uint64_t hash_self_test(uint64_t seed);

/* Computes the digests of spans. Returns BLOOMFILE_ESTRUCTSIZE or _EVALUE before it writes any. */
int hash_spans(uint64_t seed, const struct bloomfile_spans *given, uint64_t *digests);

#endif
