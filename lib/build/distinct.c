/* SPDX-License-Identifier: MIT
 *
 * Removal and counting of repeated values.
 *
 * The sieve hashes each value to a slot. A value that is alone in its slot equals no other value.
 * With 8 slots a value or more, at most 1 - e^(-1/8) = 12% of distinct values share a slot. Those
 * are sieved again with another hash, until a round removes too few; the rest is sorted.
 *
 * If there are few suspects, a bitmap of them is faster: a value whose bit is clear equals no
 * suspect. The remaining values are sorted.
 */
#include "build/distinct.h"

#include <string.h>

#include "build/digest_buffer.h"

#define SLOTS_LOG  3                        /* at least 2^3 slots a value */
#define LOG_MOST   (8 * sizeof(size_t) - 1) /* the number of slots must fit in a size_t */
#define FEW        64                       /* values; so few are sorted without a sieve */
#define MULTIPLIER 0x9E3779B97F4A7C15u

/* 64 slots with two bits each: a value was hashed to it, a second value was. */
struct slots {
    uint64_t once, twice;
};

static unsigned slots_log(size_t n)
{
    unsigned log = 6;
    while (log < LOG_MOST && (size_t)1 << (log - SLOTS_LOG) < n)
        log++;
    return log;
}

size_t distinct_memory(size_t n)
{
    return ((size_t)1 << (slots_log(n) - 6)) * sizeof(struct slots);
}

/* Moves the values that are alone in their slots to the front. Returns their number. */
static size_t sieve(uint64_t *values, size_t n, uint64_t multiplier, struct slots *slots)
{
    const unsigned shift = 64 - slots_log(n);
    memset(slots, 0, distinct_memory(n));
    for (size_t i = 0; i < n; i++) {
        const uint64_t slot = values[i] * multiplier >> shift, bit = (uint64_t)1 << slot % 64;
        struct slots *s = &slots[slot / 64];
        s->twice |= s->once & bit;
        s->once |= bit;
    }
    size_t alone = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t value = values[i], slot = value * multiplier >> shift;
        values[i] = values[alone];
        values[alone] = value;
        alone += (size_t)(~(slots[slot / 64].twice >> slot % 64) & 1);
    }
    return alone;
}

size_t distinct(uint64_t *values, size_t n, void *memory)
{
    uint64_t *rest = values, multiplier = MULTIPLIER;
    size_t left = n, alone = n;
    for (; left > FEW && alone > left / 4; multiplier *= MULTIPLIER) {
        alone = sieve(rest, left, multiplier, memory);
        rest += alone;
        left -= alone;
    }
    return (size_t)(rest - values) + sort_unique(rest, left);
}

/* ---- few suspects
 *
 * The memory for n values is 2 to 4 bytes each, which limits the suspects to n / 64 to n / 32. For
 * more suspects the sieve is faster. A quarter of the memory holds the list of suspects, a quarter
 * the map, and half of it the values found. */

#define SUSPECTS 128 /* bytes of memory for each suspect */
#define MAP_LOG  8   /* at least 2^8 bits for each suspect: a quarter of its memory */

size_t distinct_suspects(size_t n)
{
    return distinct_memory(n) / SUSPECTS;
}

size_t distinct_repetitions(uint64_t *values, size_t n, size_t count, void *memory)
{
    const size_t quarter = distinct_memory(n) / 4 / sizeof *values, room = 2 * quarter;
    uint64_t *suspects = memory, *map = suspects + quarter, *found = map + quarter;
    unsigned log = 6;
    while ((size_t)1 << log < count << MAP_LOG)
        log++;
    const unsigned shift = 64 - log;
    if (count == 0)
        return 0;
    memset(map, 0, ((size_t)1 << log) / 8);
    for (size_t i = 0; i < count; i++) {
        const uint64_t slot = suspects[i] * MULTIPLIER >> shift;
        map[slot / 64] |= (uint64_t)1 << slot % 64;
    }
    size_t hits = 0;
    for (size_t i = 0; i < n; i++) {
        const uint64_t slot = values[i] * MULTIPLIER >> shift;
        if (__builtin_expect((map[slot / 64] >> slot % 64 & 1) == 0, 1))
            continue;
        if (hits == room)
            return n - distinct(values, n, memory);
        found[hits++] = values[i];
    }
    return hits - sort_unique(found, hits);
}
