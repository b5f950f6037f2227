/* SPDX-License-Identifier: MIT
 * Any number of digests in a fixed amount of memory. Each thread adds to its own buffer. A full
 * buffer is sorted, and its distinct digests are written to a temporary file as a run. */
#ifndef BLOOMFILE_BUILD_DIGESTS_H
#define BLOOMFILE_BUILD_DIGESTS_H

#include "build/digest_buffer.h"
#include "build/runs.h"
#include "format/header.h"
#include "format/probe.h"

struct digests;

#define DIGESTS_BUFFERS_MOST RUNS_BUFFERS_MOST

struct digests_plan {
    struct digest_buffer_plan buffer; /* a buffer has room for at least 4096 digests */
    unsigned buffers;                 /* at most DIGESTS_BUFFERS_MOST */
    bool shared;                      /* several threads add at the same time */
    unsigned threads;                 /* for sorting and counting */
    size_t room;                      /* as for reader_new() */
    const char *folder;               /* for spool_file(); not copied */
};

int digests_new(struct digests **out, const struct digests_plan *plan);

/* Returns 0 or an error. After an error, all earlier digests are kept, and some of the new. */
int digests_add(struct digests *d, const uint64_t *digests, size_t n);

/* Returns all digests, sorted or partitioned, or NULL if memory runs out. Valid until the next
 * add. */
const struct runs *digests_runs(struct digests *d);

/* The number of distinct digests. */
int digests_count(struct digests *d, uint64_t *count);

/* Guesses the number of distinct digests, after digests_runs(). If a sample has no repeated
 * digests, assumes that all digests are distinct, and *certain is false. Otherwise counts. */
int digests_guess(struct digests *d, uint64_t *count, bool *certain);

/* Records the number of distinct digests, found by a caller that has read all of digests_runs(). */
void digests_are(struct digests *d, uint64_t distinct);

/* Drops all digests, but keeps the memory. */
void digests_reset(struct digests *d);

void digests_free(struct digests *d);

/* ---- digests of a slice
 *
 * The digests of a slice lie in a small range: their top bits are nearly equal, and most partitions
 * would be empty. So while they are collected, an order-preserving and reversible map spreads them
 * over all 64-bit numbers. With it, one slice of 1000 builds in 5 ns a key instead of 22. */

struct digest_range {
    uint64_t first, last; /* first and last digest of the slice */
    unsigned shift;       /* 0 for a whole filter, whose digests are not spread */
};

/* The range of a filter with this header. s.last - s.first is not 0, for which clz is undefined,
 * because even a single block has many digests. */
static inline struct digest_range digest_range_of(const struct header *h)
{
    struct digest_range s = { 0, UINT64_MAX, 0 };
    if (!header_is_slice(h))
        return s;
    s.first = probe_least_digest(h->first_block, h->whole_blocks);
    s.last =
        probe_last_digest(h->first_block + geometry_units_of(h->layout, h->m), h->whole_blocks);
    s.shift = (unsigned)__builtin_clzll(s.last - s.first);
    return s;
}

static inline bool digest_range_has(const struct digest_range *s, uint64_t digest)
{
    return digest - s->first <= s->last - s->first;
}

static inline uint64_t digest_range_digest(const struct digest_range *s, uint64_t digest)
{
    return (digest - s->first) << s->shift;
}

/* The greatest number to which digests up to `digest` are spread. */
static inline uint64_t digest_range_last(const struct digest_range *s, uint64_t digest)
{
    return digest_range_digest(s, digest) | ((1ULL << s->shift) - 1);
}

/* The digest that was spread to `number`. */
static inline uint64_t digest_range_back(const struct digest_range *s, uint64_t number)
{
    return (number >> s->shift) + s->first;
}

#endif
