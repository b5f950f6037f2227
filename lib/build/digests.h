/* SPDX-License-Identifier: MIT
 * Any number of digests in a fixed amount of memory. Each thread adds to a buffer of its own; a
 * full buffer is sorted, and what remains goes to a temporary file as a run. */
#ifndef BLOOMFILE_BUILD_DIGESTS_H
#define BLOOMFILE_BUILD_DIGESTS_H

#include "build/digest_buffer.h"
#include "build/runs.h"
#include "format/header.h"
#include "format/probe.h"

struct digests;

#define DIGESTS_BUFFERS_MOST RUNS_BUFFERS_MOST

struct digests_plan {
    struct digest_buffer_plan buffer; /* each holds 4096 digests at least */
    unsigned buffers;                 /* at most DIGESTS_BUFFERS_MOST */
    bool shared;                      /* several threads add at once */
    unsigned threads;                 /* for sorting and counting */
    size_t room;                      /* as for reader_new() */
    const char *folder;               /* as for spool_file(); the caller's */
};

int digests_new(struct digests **out, const struct digests_plan *plan);

/* 0, or an error; then everything added before is still held, and some of the new digests. */
int digests_add(struct digests *d, const uint64_t *digests, size_t n);

/* All digests, sorted or partitioned, valid until more are added. NULL: ENOMEM. */
const struct runs *digests_runs(struct digests *d);

/* The number of distinct digests. */
int digests_count(struct digests *d, uint64_t *count);

/* After digests_runs(): the same; or if a sample has no repetition, how many there are if all the
 * others have none either. */
int digests_guess(struct digests *d, uint64_t *count, bool *certain);

/* After digests_runs(): who has read all of them says how many are distinct. */
void digests_are(struct digests *d, uint64_t distinct);

/* Forgets all, and keeps the memory. */
void digests_reset(struct digests *d);

void digests_free(struct digests *d);

/* ---- The digests of a slice lie in a small range. While they are collected, that is spread
 * over the range of all digests, so that sorting and partitioning by the top bits go as for a
 * whole filter. The order stays, and nothing is lost. */

struct digest_range {
    uint64_t first, last; /* digests of the slice */
    unsigned shift;       /* 0: nothing is spread */
};

/* Of the digests of a filter with this header; for a whole one nothing is spread. A block has many
 * digests, so a slice's first is not its last. */
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

/* The greatest number to which a digest up to this one is spread. */
static inline uint64_t digest_range_last(const struct digest_range *s, uint64_t digest)
{
    return digest_range_digest(s, digest) | ((1ULL << s->shift) - 1);
}

/* The digest that was spread to that. */
static inline uint64_t digest_range_back(const struct digest_range *s, uint64_t number)
{
    return (number >> s->shift) + s->first;
}

#endif
