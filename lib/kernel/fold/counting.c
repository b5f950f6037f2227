/* SPDX-License-Identifier: MIT
 * Folds of the counting layout: the counters of a group are added, up to 15. */
#include "kernel/fold/steps.h"
#include "kernel/kernel.h"

#define MOST 15 /* the maximum of a counter */

FOLD_INLINE uint8_t low(uint8_t counters)
{
    return counters & MOST;
}

FOLD_INLINE uint8_t high(uint8_t counters)
{
    return counters >> 4;
}

FOLD_INLINE uint8_t at_most(uint8_t sum)
{
    return sum < MOST ? sum : MOST;
}

FOLD_INLINE uint8_t counters_of(uint8_t low_sum, uint8_t high_sum)
{
    return (uint8_t)(at_most(low_sum) | at_most(high_sum) << 4);
}

/* The sum of the two counters of a byte: at most 30. */
FOLD_INLINE uint8_t sum_of_byte(uint8_t counters)
{
    return (uint8_t)(low(counters) + high(counters));
}

FOLD_INLINE uint8_t sum_of_bytes(uint8_t a, uint8_t b)
{
    return counters_of((uint8_t)(low(a) + low(b)), (uint8_t)(high(a) + high(b)));
}

FOLD_INLINE void unite_counters(uint8_t *restrict to, const uint8_t *restrict from, uint64_t size)
{
    uint64_t i = 0;
    for (; size - i >= FOLD_RUN; i += FOLD_RUN)
        for (unsigned b = 0; b < FOLD_RUN; b++)
            to[i + b] = sum_of_bytes(to[i + b], from[i + b]);
    for (; i < size; i++)
        to[i] = sum_of_bytes(to[i], from[i]);
}

/* ---- by 2, 3 and 4 */

/* Packs pairs of sums up to 15, a byte each, as the two counters of one byte. */
FOLD_INLINE void pack(uint8_t *restrict to, const uint8_t *restrict sums)
{
    for (unsigned i = 0; i < FOLD_RUN; i++) {
        const uint16_t two = get16(sums + 2 * i);
        to[i] = (uint8_t)(two | two >> 4);
    }
}

FOLD_INLINE void fold_counters_by_2(uint8_t *restrict to, const uint8_t *restrict from, size_t size)
{
    uint8_t sums[2 * FOLD_RUN];
    for (size_t done = 0; done < size; done += FOLD_RUN, to += FOLD_RUN, from += 2 * FOLD_RUN) {
        for (unsigned i = 0; i < 2 * FOLD_RUN; i++)
            sums[i] = at_most(sum_of_byte(from[i]));
        pack(to, sums);
    }
}

FOLD_INLINE uint8_t threes_of_counters(uint8_t a, uint8_t b, uint8_t c)
{
    return counters_of((uint8_t)(sum_of_byte(a) + low(b)), (uint8_t)(high(b) + sum_of_byte(c)));
}

FOLD_INLINE void fold_counters_by_3(uint8_t *restrict to, const uint8_t *restrict from, size_t size)
{
    for (size_t done = 0; done < size; done += FOLD_RUN, to += FOLD_RUN, from += 3 * FOLD_RUN)
        for (unsigned i = 0; i < FOLD_RUN; i++)
            to[i] = threes_of_counters(from[3 * i], from[3 * i + 1], from[3 * i + 2]);
}

FOLD_INLINE void fold_counters_by_4(uint8_t *restrict to, const uint8_t *restrict from, size_t size)
{
    uint8_t pairs[4 * FOLD_RUN], sums[2 * FOLD_RUN];
    for (size_t done = 0; done < size; done += FOLD_RUN, to += FOLD_RUN, from += 4 * FOLD_RUN) {
        for (unsigned i = 0; i < 4 * FOLD_RUN; i++)
            pairs[i] = sum_of_byte(from[i]);
        for (unsigned i = 0; i < 2 * FOLD_RUN; i++) {
            const uint16_t two = get16(pairs + 2 * i);
            sums[i] = at_most((uint8_t)(two + (two >> 8)));
        }
        pack(to, sums);
    }
}

/* ---- by 5, 7, 11 and 13: two groups take `by` bytes
 *
 * The loops compute the sums of two groups as if groups began at every byte, and keep every `by`th
 * result. That is `by` times the work, but without varying shifts, so compilers vectorise the
 * loops. A sum cannot overflow a byte: 13 counters are at most 13 * 15 = 195. */

#define ODD_MOST 13

FOLD_INLINE void fold_counters_by_odd(uint8_t *restrict to, const uint8_t *restrict from,
                                      size_t size, unsigned by)
{
    uint8_t pairs[FOLD_RUN * ODD_MOST + 32], sums[FOLD_RUN * ODD_MOST + 32];
    const unsigned half = by / 2, run = FOLD_RUN * by;
    for (size_t done = 0; done < size; done += FOLD_RUN, to += FOLD_RUN, from += run) {
        for (unsigned i = 0; i < run + 32; i++)
            sums[i] = pairs[i] = sum_of_byte(from[i]);
        for (unsigned more = 1; more < half; more++)
            for (unsigned i = 0; i < run + 16; i++)
                sums[i] = (uint8_t)(sums[i] + pairs[i + more]);
        for (unsigned i = 0; i < run; i++)
            pairs[i] = counters_of((uint8_t)(sums[i] + low(from[i + half])),
                                   (uint8_t)(sums[i + half + 1] + high(from[i + half])));
        for (unsigned i = 0; i < FOLD_RUN; i++)
            to[i] = pairs[i * by];
    }
}

/* ---- by other factors: one group after the other */

#define LOW_NIBBLES 0x0F0F0F0F0F0F0F0FU

/* The sum of the first `n` of 16 counters, n > 0. The multiplication adds the eight bytes into the
 * highest byte, which can hold the sum: at most 16 * 15 = 240. */
static inline uint64_t sum_of(uint64_t counters, uint64_t n)
{
    counters &= UINT64_MAX >> (64 - 4 * n);
    counters = (counters & LOW_NIBBLES) + (counters >> 4 & LOW_NIBBLES);
    return counters * 0x0101010101010101 >> 56;
}

static inline unsigned nibble(const uint8_t *from, uint64_t j)
{
    return from[j / 2] >> (4 * (j % 2)) & 15u;
}

/* The sum of `n` counters from i on. A word that begins with an odd counter has only 15 of its 16
 * counters after the shift, so each word adds 15. */
static uint64_t sum_all(const uint8_t *from, uint64_t i, uint64_t n)
{
    uint64_t sum = 0;
    for (; n > 16; i += 15, n -= 15)
        sum += sum_of(get64(from + i / 2) >> 4 * (i % 2), 15);
    for (; n > 0; i++, n--)
        sum += nibble(from, i);
    return sum;
}

static void fold_counters_group(uint8_t *to, uint64_t j, const uint8_t *from, uint64_t i,
                                uint64_t n)
{
    const unsigned shift = 4 * (j % 2);
    const uint64_t sum = nibble(to, j) + sum_all(from, i, n);
    to[j / 2] = (uint8_t)((to[j / 2] & ~(15u << shift)) | (sum < MOST ? sum : MOST) << shift);
}

FOLD_INLINE void fold_counters_groups(uint8_t *to, const uint8_t *from, size_t size, uint64_t by)
{
    for (size_t i = 0; i < size; i++, from += by) {
        const uint64_t first = sum_all(from, 0, by), second = sum_all(from, by, by);
        to[i] = (uint8_t)((first < MOST ? first : MOST) | (second < MOST ? second : MOST) << 4);
    }
}

/* ---- every factor */

/* 3 comes before the larger odd factors, because a step by 3 costs as little as a step by 2: a fold
 * by 15 as 3 and then 5 is 1.6 times as fast as 5 and then 3 (bench-combine). */
static uint64_t next_step_of_counters(uint64_t factor)
{
    static const uint8_t steps[] = { 4, 2, 3, 13, 11, 7, 5 };
    return fold_divisor(factor, steps, sizeof steps);
}

FOLD_INLINE void step_counters(uint8_t *restrict to, const uint8_t *restrict from, size_t size,
                               uint64_t by)
{
    switch (by) {
        FOLD_CASE(2, fold_counters_by_2(to, from, size));
        FOLD_CASE(3, fold_counters_by_3(to, from, size));
        FOLD_CASE(4, fold_counters_by_4(to, from, size));
        FOLD_CASE(5, fold_counters_by_odd(to, from, size, 5));
        FOLD_CASE(7, fold_counters_by_odd(to, from, size, 7));
        FOLD_CASE(11, fold_counters_by_odd(to, from, size, 11));
        FOLD_CASE(13, fold_counters_by_odd(to, from, size, 13));
    default:
        fold_counters_groups(to, from, size, by);
    }
}

FOLD_STEPS(, fold_counting, counters, 2);
FOLD_STEPS(FOLD_WIDE, fold_counting_wide, counters, 2);

void kernel_fold_counting(uint8_t *to, const uint8_t *from, uint64_t first, uint64_t count,
                          uint64_t factor)
{
    fold_by_steps(FOLD_IS_WIDE ? &fold_counting_wide : &fold_counting, to, from, first, count,
                  factor);
}

void kernel_project_counting(uint8_t *to, const uint8_t *from, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const unsigned low = (from[i] & 0x0F) != 0, high = (from[i] & 0xF0) != 0;
        to[i / 4] |= (uint8_t)((low | high << 1) << 2 * (i % 4));
    }
}
