/* SPDX-License-Identifier: MIT
 *
 * libbloom 1.6: a classic filter of 32-bit positions.
 */
#include <bloom.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "peers/contender.h"

#define VERSION   "1.6" /* the header has no version */
#define FEWEST    1000
#define LN2       0.693147180559945
#define MOST_BITS INT_MAX

static bool possible(uint64_t capacity, double bits_per_key)
{
    if (strcmp(bloom_version(), VERSION) != 0)
        fprintf(stderr, "libbloom: version %s is installed, not " VERSION "\n", bloom_version());
    else if (capacity < FEWEST)
        fprintf(stderr, "libbloom: a filter is for %d keys or more\n", FEWEST);
    else if (bits_per_key < 1)
        fprintf(stderr, "libbloom: a filter has one bit per key at least\n");
    else if ((double)capacity * bits_per_key >= MOST_BITS)
        fprintf(stderr, "libbloom: a filter has at most %d bits\n", MOST_BITS);
    else
        return true;
    return false;
}

/* libbloom computes size and hashes from a rate: that of an ideal filter with these bits a key. */
static void *create(unsigned variant, uint64_t capacity, double bits_per_key, enum key_form form)
{
    (void)variant;
    (void)form;
    if (!possible(capacity, bits_per_key))
        return NULL;
    struct bloom *filter = malloc(sizeof *filter);
    if (filter && bloom_init(filter, (int)capacity, exp(-bits_per_key * LN2 * LN2)) == 0)
        return filter;
    fputs("libbloom: no memory for the filter; ask for fewer keys\n", stderr);
    free(filter);
    return NULL;
}

static void add_one(void *filter, const struct keyset *keys)
{
    for (size_t i = 0; i < keys->count; i++)
        bloom_add(filter, keys->keys[i].data, (int)keys->keys[i].size);
}

static size_t lookup_one(const void *filter, const struct keyset *keys)
{
    struct bloom bloom = *(const struct bloom *)filter; /* bloom_check() takes no const */
    size_t hits = 0;
    for (size_t i = 0; i < keys->count; i++)
        hits += bloom_check(&bloom, keys->keys[i].data, (int)keys->keys[i].size) == 1;
    return hits;
}

static uint64_t bytes(const void *filter)
{
    return (uint64_t)((const struct bloom *)filter)->bytes;
}

static void destroy(void *filter)
{
    bloom_free(filter);
    free(filter);
}

const struct contender contenders[] = { {
    .name = "libbloom",
    .version = VERSION,
    .create = create,
    .add_one = add_one,
    .lookup_one = lookup_one,
    .bytes = bytes,
    .destroy = destroy,
} };
const size_t contenders_count = 1;
