/* SPDX-License-Identifier: MIT
 * The digests of a slice lie in a small range. While they are collected, that is spread over the
 * range of all digests, so that sorting and partitioning by the top bits go as for a whole filter.
 * The order stays, and nothing is lost. */
#ifndef BLOOMFILE_SPREAD_H
#define BLOOMFILE_SPREAD_H

#include "format/header.h"
#include "format/probe.h"

struct spread {
    uint64_t first, last; /* digests of the slice */
    unsigned shift;       /* 0: nothing is spread */
};

/* Of the digests of a filter with this header; for a whole one nothing is spread. A block has many
 * digests, so a slice's first is not its last. */
static inline struct spread spread_of(const struct header *h)
{
    struct spread s = { 0, UINT64_MAX, 0 };
    if (!header_is_slice(h))
        return s;
    s.first = probe_least_digest(h->first_block, h->whole_blocks);
    s.last =
        probe_last_digest(h->first_block + geometry_units_of(h->layout, h->m), h->whole_blocks);
    s.shift = (unsigned)__builtin_clzll(s.last - s.first);
    return s;
}

static inline bool spread_has(const struct spread *s, uint64_t digest)
{
    return digest - s->first <= s->last - s->first;
}

static inline uint64_t spread_digest(const struct spread *s, uint64_t digest)
{
    return (digest - s->first) << s->shift;
}

/* The greatest number to which a digest up to this one is spread. */
static inline uint64_t spread_last(const struct spread *s, uint64_t digest)
{
    return spread_digest(s, digest) | ((1ULL << s->shift) - 1);
}

/* The digest that was spread to that. */
static inline uint64_t spread_back(const struct spread *s, uint64_t number)
{
    return (number >> s->shift) + s->first;
}

#endif
