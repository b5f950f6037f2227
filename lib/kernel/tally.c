/* SPDX-License-Identifier: MIT
 *
 * Counting the set bits of a body, and its blocks, counters or columns.
 *
 * Compiled twice for x86: for baseline x86-64, which lacks POPCNT, and with POPCNT, which is five
 * times as fast. VPOPCNTQ (Ice Lake, Zen 4) counts eight words in one instruction: 65 GB/s from the
 * L1 cache, where POPCNT reaches 21 GB/s.
 */
#include "kernel/kernel.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

#include "format/bytes.h"
#include "format/checksum.h"
#include "format/ribbon.h"

/* Loads a word of a body that other threads may change. In a live body all words are aligned, and
 * loaded atomically. */
static inline uint64_t word(const uint8_t *p)
{
    return (uintptr_t)p % 8 == 0 ? shared_load64(p) : get64(p);
}

/* The number of bytes before the first word that is aligned to 8 bytes. */
static inline size_t unaligned(const uint8_t *bytes, size_t size)
{
    const size_t before = -(uintptr_t)bytes % 8;
    return before < size ? before : size;
}

#define INLINE static inline __attribute__((always_inline))

INLINE void tally_blocked(const uint8_t *bytes, size_t size, struct kernel_tally *tally)
{
    for (size_t at = 0; at < size; at += PROBE_BLOCK_BYTES) {
        unsigned ones = 0;
        for (unsigned i = 0; i < PROBE_BLOCK_BYTES; i += 8)
            ones += (unsigned)__builtin_popcountll(word(bytes + at + i));
        tally->ones += ones;
        tally->blocks[ones]++;
    }
}

INLINE void tally_classic(const uint8_t *bytes, size_t size, struct kernel_tally *tally)
{
    size_t at = 0;
    for (const size_t before = unaligned(bytes, size); at < before; at++)
        tally->ones += (unsigned)__builtin_popcount(shared_load8(bytes + at));
    for (; size - at >= 8; at += 8)
        tally->ones += (unsigned)__builtin_popcountll(shared_load64(bytes + at));
    for (; at < size; at++)
        tally->ones += (unsigned)__builtin_popcount(shared_load8(bytes + at));
}

#define LOWEST 0x1111111111111111u /* the lowest bit of each counter */

/* ORs and ANDs the four bits of each counter into its lowest bit: a counter is above 0 if any bit
 * is set, and at 15 if all are. The shifts also bring in bits of the next counter, but only above
 * the lowest bit, where the mask drops them. */
INLINE void tally_counters(uint64_t counters, struct kernel_tally *tally)
{
    const uint64_t any = counters | counters >> 1 | counters >> 2 | counters >> 3;
    const uint64_t all = counters & counters >> 1 & counters >> 2 & counters >> 3;
    tally->ones += (unsigned)__builtin_popcountll(any & LOWEST);
    tally->overflow += (unsigned)__builtin_popcountll(all & LOWEST);
}

INLINE void tally_counting(const uint8_t *bytes, size_t size, struct kernel_tally *tally)
{
    size_t at = 0;
    for (const size_t before = unaligned(bytes, size); at < before; at++)
        tally_counters(shared_load8(bytes + at), tally);
    for (; size - at >= 8; at += 8)
        tally_counters(shared_load64(bytes + at), tally);
    for (; at < size; at++)
        tally_counters(shared_load8(bytes + at), tally);
}

#if defined __x86_64__ && !defined __POPCNT__
#define WITH_POPCNT  __attribute__((target("popcnt")))
#define HAS_POPCNT() __builtin_cpu_supports("popcnt")
#else
#define WITH_POPCNT
#define HAS_POPCNT() 0
#endif

#if defined __x86_64__
#define HAS_WIDE() __builtin_cpu_supports("avx512vpopcntdq")
#define WITH_WIDE  __attribute__((target("avx512f,avx512vpopcntdq"))) SHARED_WIDE_LOADS

WITH_WIDE static void blocked_wide(const uint8_t *bytes, size_t size, struct kernel_tally *tally)
{
    uint64_t all = 0;
    for (size_t at = 0; at < size; at += PROBE_BLOCK_BYTES) {
        const __m512i block = _mm512_loadu_si512(bytes + at);
        const uint64_t ones = (uint64_t)_mm512_reduce_add_epi64(_mm512_popcnt_epi64(block));
        tally->blocks[ones]++;
        all += ones;
    }
    tally->ones += all;
}

/* Counts the whole multiples of 64 bytes. Returns the number of bytes counted. */
WITH_WIDE static size_t classic_wide(const uint8_t *bytes, size_t size, struct kernel_tally *tally)
{
    const size_t whole = size / 64 * 64;
    __m512i ones = _mm512_setzero_si512();
    for (size_t at = 0; at < whole; at += 64)
        ones = _mm512_add_epi64(ones, _mm512_popcnt_epi64(_mm512_loadu_si512(bytes + at)));
    tally->ones += (uint64_t)_mm512_reduce_add_epi64(ones);
    return whole;
}
#else
#define HAS_WIDE()                       0
#define blocked_wide(bytes, size, tally) tally_blocked(bytes, size, tally)
#define classic_wide(bytes, size, tally) 0
#endif

#define BOTH(layout, extent, name)                                                                 \
    WITH_POPCNT static void layout##_popcnt(const uint8_t *bytes, size_t size,                     \
                                            struct kernel_tally *tally)                            \
    {                                                                                              \
        tally_##layout(bytes, size, tally);                                                        \
    }                                                                                              \
    extent void name(const uint8_t *bytes, size_t size, struct kernel_tally *tally)                \
    {                                                                                              \
        if (HAS_POPCNT())                                                                          \
            layout##_popcnt(bytes, size, tally);                                                   \
        else                                                                                       \
            tally_##layout(bytes, size, tally);                                                    \
    }

BOTH(blocked, static, narrow_blocked)
BOTH(classic, static, narrow_classic)
BOTH(counting, extern, kernel_tally_counting)

void kernel_tally_blocked(const uint8_t *bytes, size_t size, struct kernel_tally *tally)
{
    if (HAS_WIDE())
        blocked_wide(bytes, size, tally);
    else
        narrow_blocked(bytes, size, tally);
}

void kernel_tally_classic(const uint8_t *bytes, size_t size, struct kernel_tally *tally)
{
    const size_t done = HAS_WIDE() ? classic_wide(bytes, size, tally) : 0;
    narrow_classic(bytes + done, size - done, tally);
}

/* ---- ribbon */

/* A fixed-point scale: a line weighs 2^20, so that the weight of a page can be divided between two
 * numbers of columns. 64 bits hold the weight of 2^44 lines, which are 2^50 bytes. */
#define WEIGHT_LOG 20

/* A key's first group is any but the last. Its lookup compares as many columns as that group has:
 * `fewest` in the first `few` groups, `fewest` + 1 in the rest. */
static void weigh(uint32_t shape, unsigned lines, struct kernel_tally *tally)
{
    const uint64_t all = (uint64_t)lines << WEIGHT_LOG;
    const unsigned fewest = ribbon_fewest(shape), first = ribbon_groups(shape) - 1;
    const unsigned few = ribbon_few(shape) < first ? ribbon_few(shape) : first;
    const uint64_t part = first > 0 ? all * few / first : all;
    tally->blocks[fewest] += part;
    tally->blocks[fewest + 1] += all - part;
}

static void tally_page(const uint8_t *page, unsigned lines, struct kernel_tally *tally)
{
    const uint64_t head = get64(page);
    const uint32_t keys = (uint32_t)(head >> 32);
    tally->keys += keys;
    tally->more_keys |= keys == RIBBON_KEYS_MOST;
    tally->not_heads += !ribbon_head_valid(head, lines);
    weigh(ribbon_shape_of(head, lines), lines, tally);
}

void kernel_tally_ribbon(const uint8_t *bytes, size_t size, struct kernel_tally *tally)
{
    kernel_tally_classic(bytes, size, tally);
    for (size_t at = 0; at < size; at += CHECKSUM_PAGE)
        tally_page(bytes + at, ribbon_lines(at / CHECKSUM_PAGE, size / PROBE_BLOCK_BYTES), tally);
}
