/* SPDX-License-Identifier: MIT
 *
 * A page of the ribbon layout: its head, the places of its columns, and the equations of a key
 * (doc/format/ribbon.md).
 */
#ifndef BLOOMFILE_RIBBON_H
#define BLOOMFILE_RIBBON_H

#include <stdbool.h>
#include <stddef.h>

#include "format/bytes.h"
#include "format/probe.h"

#define RIBBON_LINES        64u  /* lines of a page, except the last page */
#define RIBBON_SLOTS        32u  /* slots of a group */
#define RIBBON_SEEDS        16u  /* seeds that a builder tries for each number of groups */
#define RIBBON_GROUPS_MOST  511u /* groups of a page */
#define RIBBON_COLUMNS_MOST 32u
#define RIBBON_HEAD         8u /* bytes */
#define RIBBON_KEYS_MOST    UINT32_MAX

/* 2^64 / r and 2^64 / r^3, rounded down. r = 1.2207... solves r^4 = r + 1, as the golden ratio, of
 * which PROBE_MULTIPLIER is made, solves r^2 = r + 1. */
#define RIBBON_MULTIPLIER 0xD1B54A32D192ED03u
#define RIBBON_DIFFERENCE 0x8CB92BA72F3D8DD7u

/* The number of 32-bit words in a page of that many lines, without the head. */
static inline unsigned ribbon_words(unsigned lines)
{
    return PROBE_BLOCK_BYTES / 4 * lines - 2;
}

/* The number of lines of a page, in a body of `lines` lines. */
static inline unsigned ribbon_lines(uint64_t page, uint64_t lines)
{
    const uint64_t rest = lines - page * RIBBON_LINES;
    return rest < RIBBON_LINES ? (unsigned)rest : RIBBON_LINES;
}

/* ---- the head */

/* A shape packs the values that lookups need from a head into one word: 9 bits for the number of
 * groups, 7 for the seed, 6 for the fewest columns of a group, and 9 for the number of groups with
 * so few. Never 0. */
#define RIBBON_MAYBE 0x400001u /* a group without columns: every lookup returns "maybe" */

static inline unsigned ribbon_groups(uint32_t shape)
{
    return shape & 511;
}

static inline unsigned ribbon_seed(uint32_t shape)
{
    return shape >> 9 & 127;
}

static inline unsigned ribbon_fewest(uint32_t shape)
{
    return shape >> 16 & 63;
}

static inline unsigned ribbon_few(uint32_t shape)
{
    return shape >> 22;
}

/* The shape of a page with 2 to words / 2 groups. */
static inline uint32_t ribbon_shape(unsigned groups, unsigned seed, unsigned words)
{
    unsigned fewest = words / groups, few = groups;
    if (fewest >= RIBBON_COLUMNS_MOST)
        fewest = RIBBON_COLUMNS_MOST;
    else
        few = groups * (fewest + 1) - words;
    return groups | seed << 9 | fewest << 16 | few << 22;
}

/* The columns of a group: their number, and the index of the first word. */
struct ribbon_columns {
    size_t count, place;
};

/* Computed without a branch: beyond >> 63 is -1 for groups with the fewest columns, and 0 for
 * groups with one column more. */
static inline struct ribbon_columns ribbon_columns(uint32_t shape, unsigned group)
{
    const int64_t beyond = (int64_t)group - (int64_t)ribbon_few(shape), is_few = beyond >> 63;
    const uint64_t fewest = ribbon_fewest(shape);
    return (struct ribbon_columns){
        .count = (size_t)(fewest + 1 + (uint64_t)is_few),
        .place = (size_t)(group * fewest + (uint64_t)(beyond & ~is_few)),
    };
}

/* Returns whether a head is valid (ribbon.md 2). */
static inline bool ribbon_head_valid(uint64_t head, unsigned lines)
{
    const unsigned groups = head & 0xFFFF;
    return (head >> 23 & 511) == 0 && groups != 1 && groups <= ribbon_words(lines) / 2;
}

static inline uint32_t ribbon_shape_of(uint64_t head, unsigned lines)
{
    const unsigned groups = head & 0xFFFF;
    return groups != 0 && ribbon_head_valid(head, lines)
               ? ribbon_shape(groups, head >> 16 & 127, ribbon_words(lines))
               : RIBBON_MAYBE;
}

static inline uint64_t ribbon_head(unsigned groups, unsigned seed, uint64_t keys)
{
    return groups | (uint64_t)seed << 16 |
           (keys < RIBBON_KEYS_MOST ? keys : RIBBON_KEYS_MOST) << 32;
}

/* The number of groups that a builder tries first: 41/40 times as many slots as keys, rounded up to
 * groups of 32 slots (41 / (40 * 32) = 41 / 1280). Fewer slots would need more seeds: with these a
 * page tries 14.5 on average (bench/results/ribbon.md), most of which may_fit() rejects cheaply.
 * Returns more groups than a page can have if so many keys cannot be solved. */
static inline unsigned ribbon_first_groups(uint64_t keys, unsigned words)
{
    if (keys > (uint64_t)words * RIBBON_SLOTS)
        return words;
    const unsigned groups = (unsigned)((41 * keys + 1279) / 1280);
    return groups < 2 ? 2 : groups;
}

/* ---- a key */

/* With 128-bit integers, compilers compute both halves by one multiplication. */
static inline uint64_t ribbon_mix(uint64_t a, uint64_t b)
{
#ifdef __SIZEOF_INT128__
    __extension__ typedef unsigned __int128 u128;
    const u128 product = (u128)a * b;
    return (uint64_t)(product >> 64) ^ (uint64_t)product;
#else
    return probe_mulhi_portable(a, b) ^ a * b;
#endif
}

/* The part of a key's hash that does not depend on the page's seed. */
static inline uint64_t ribbon_seedless(uint64_t digest)
{
    return ribbon_mix(digest ^ RIBBON_MULTIPLIER, PROBE_MULTIPLIER);
}

/* The hash of a key in its page. Its low bits are the right sides of the key's equations. */
static inline uint64_t ribbon_hash(uint64_t seedless, unsigned seed)
{
    return (seedless ^ seed * PROBE_MULTIPLIER) * RIBBON_MULTIPLIER;
}

/* The first of a key's two groups. */
static inline unsigned ribbon_group(uint64_t hash, unsigned groups)
{
    return (unsigned)((hash >> 32) * (groups - 1) >> 32);
}

/* The coefficients of a key: the low half for its first group, the high half for the next. */
static inline uint64_t ribbon_row(uint64_t hash)
{
    return ribbon_mix(hash ^ RIBBON_DIFFERENCE, PROBE_MULTIPLIER);
}

#endif
