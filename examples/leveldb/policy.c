/* SPDX-License-Identifier: MIT
 * Filters of bloomfile as LevelDB's filter policy: the part to copy. */
#include "policy.h"

#include <bloomfile.h>
#include <bloomfile_inspect.h>
#include <bloomfile_view.h>

#include <stdlib.h>

#define SEED 0

struct policy {
    uint32_t bits_per_key, hashes;
    struct policy_counts *counts;
};

struct policy *policy_new(int bits_per_key, struct policy_counts *counts)
{
    if (bits_per_key < 1 || bits_per_key > 64)
        return NULL;
    struct bloomfile_size size = BLOOMFILE_SIZE_INIT;
    size.layout = BLOOMFILE_LAYOUT_CLASSIC;
    size.keys = 32;
    size.bits = (uint64_t)bits_per_key * 32;
    struct policy *policy = malloc(sizeof *policy);
    if (policy == NULL || bloomfile_size_for(&size) != 0) {
        free(policy);
        return NULL;
    }
    *policy = (struct policy){ (uint32_t)bits_per_key, size.hashes, counts };
    return policy;
}

/* LevelDB finds a table's filters by this name. It must change if a version of the library cannot
 * read the filters of an older version. */
const char *policy_name(void *policy)
{
    (void)policy;
    return "bloomfile.compact.1";
}

/* Keys come in order, so versions of a key are neighbours. Returns the number of different keys. */
static size_t digest(bloomfile_digest *digests, const char *const *keys, const size_t *sizes,
                     int count)
{
    size_t n = 0;
    for (int i = 0; i < count; i++) {
        const bloomfile_digest d = bloomfile_hash(SEED, keys[i], sizes[i]);
        if (n == 0 || d != digests[n - 1])
            digests[n++] = d;
    }
    return n;
}

static uint8_t *make(const struct policy *policy, const bloomfile_digest *digests, size_t n,
                     size_t *size)
{
    struct bloomfile_view view;
    struct bloomfile_size shape = BLOOMFILE_SIZE_INIT;
    shape.layout = BLOOMFILE_LAYOUT_CLASSIC;
    shape.bits = ((uint64_t)n * policy->bits_per_key + 7) / 8 * 8;
    shape.hashes = policy->hashes;
    if (bloomfile_view_for(&view, &shape) != 0)
        return NULL;
    uint8_t *filter = calloc(1, view.size + BLOOMFILE_TRAILER_SIZE);
    if (filter != NULL) {
        bloomfile_view_add_digests(&view, filter, digests, n);
        bloomfile_view_write_trailer(&view, SEED, filter);
        *size = view.size + BLOOMFILE_TRAILER_SIZE;
    }
    return filter;
}

/* LevelDB copies the filter and frees it. A failure cannot be reported to LevelDB. It stores a
 * filter of size 0 like any other, and lookups in that filter answer "maybe". */
char *policy_create_filter(void *policy, const char *const *keys, const size_t *sizes, int count,
                           size_t *filter_size)
{
    *filter_size = 0;
    bloomfile_digest *digests = malloc((size_t)count * sizeof *digests);
    if (digests == NULL)
        return NULL;
    uint8_t *filter = make(policy, digests, digest(digests, keys, sizes, count), filter_size);
    free(digests);
    return (char *)filter;
}

_Thread_local struct policy_tally policy_tally;

static void count_unusable(struct policy_counts *counts, int error)
{
    atomic_fetch_add_explicit(&counts->unusable, 1, memory_order_relaxed);
    atomic_store_explicit(&counts->error, error, memory_order_relaxed);
}

uint8_t policy_key_may_match(void *policy, const char *key, size_t size, const char *filter,
                             size_t filter_size)
{
    const struct policy *p = policy;
    struct bloomfile_view view;
    const int error = bloomfile_view_open(&view, SEED, filter, filter_size);
    const bool maybe =
        bloomfile_view_contains_digest(&view, filter, bloomfile_hash(SEED, key, size));
    policy_tally.asked++;
    policy_tally.refused += !maybe;
    if (error != 0 && p->counts != NULL)
        count_unusable(p->counts, error);
    return maybe;
}

leveldb_filterpolicy_t *leveldb_filterpolicy_create_bloomfile(int bits_per_key,
                                                              struct policy_counts *counts)
{
    struct policy *policy = policy_new(bits_per_key, counts);
    if (policy == NULL)
        return NULL;
    return leveldb_filterpolicy_create(policy, free, policy_create_filter, policy_key_may_match,
                                       policy_name);
}
