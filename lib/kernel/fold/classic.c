/* SPDX-License-Identifier: MIT
 * Folds of the classic layout: the bits of a group are combined by OR. */
#include "kernel/fold/steps.h"
#include "kernel/kernel.h"

/* ---- by 2, 3 and 4
 *
 * pairs() and fours() OR each group into its lowest bit, mask the other bits, and move the
 * remaining bits together, as in decoding a Morton code. */

FOLD_INLINE uint8_t pairs(uint16_t bits)
{
    bits = (uint16_t)((bits | bits >> 1) & 0x5555);
    bits = (uint16_t)((bits | bits >> 1) & 0x3333);
    bits = (uint16_t)((bits | bits >> 2) & 0x0F0F);
    return (uint8_t)(bits | bits >> 4);
}

FOLD_INLINE uint8_t fours(uint32_t bits)
{
    bits |= bits >> 1;
    bits = (bits | bits >> 2) & 0x11111111;
    bits = (bits | bits >> 3) & 0x03030303;
    bits = (bits | bits >> 6) & 0x000F000F;
    return (uint8_t)(bits | bits >> 12);
}

/* Folds three bytes by 3. Groups 2 and 5 have bits of two bytes. */
FOLD_INLINE uint8_t threes_of_bits(uint8_t a, uint8_t b, uint8_t c)
{
    const uint8_t a3 = (uint8_t)(a | a >> 1 | a >> 2), b3 = (uint8_t)(b | b >> 1 | b >> 2);
    const uint8_t c2 = (uint8_t)(c | c >> 1), c3 = (uint8_t)(c2 | c >> 2);
    return (uint8_t)((a3 & 1) | (a3 >> 2 & 2) | ((a3 >> 4 | b << 2) & 4) | (b3 << 2 & 8) |
                     (b3 & 16) | ((b3 >> 2 | c2 << 5) & 32) | (c3 << 4 & 64) | (c3 << 2 & 128));
}

FOLD_INLINE void fold_bits_by_2(uint8_t *restrict to, const uint8_t *restrict from, size_t size)
{
    for (size_t done = 0; done < size; done += FOLD_RUN, to += FOLD_RUN, from += 2 * FOLD_RUN)
        for (unsigned i = 0; i < FOLD_RUN; i++)
            to[i] = pairs(get16(from + 2 * i));
}

FOLD_INLINE void fold_bits_by_3(uint8_t *restrict to, const uint8_t *restrict from, size_t size)
{
    for (size_t done = 0; done < size; done += FOLD_RUN, to += FOLD_RUN, from += 3 * FOLD_RUN)
        for (unsigned i = 0; i < FOLD_RUN; i++)
            to[i] = threes_of_bits(from[3 * i], from[3 * i + 1], from[3 * i + 2]);
}

FOLD_INLINE void fold_bits_by_4(uint8_t *restrict to, const uint8_t *restrict from, size_t size)
{
    for (size_t done = 0; done < size; done += FOLD_RUN, to += FOLD_RUN, from += 4 * FOLD_RUN)
        for (unsigned i = 0; i < FOLD_RUN; i++)
            to[i] = fours(get32(from + 4 * i));
}

/* ---- by 5, 7, 11, 13 and 15: a loop over words, each with 8 groups (of 5 or 7) or 4 groups
 *
 * All words take the same shifts, so compilers vectorise these loops. Eight groups of up to 7 bits
 * fit in a word. Four larger groups take up to 60 bits, and the second four begin with bit 4 of a
 * byte. Shifts by 1 and 2 OR the first 4 bits of a group into its lowest bit (with a shift by 4:
 * the first 8). A shift by `by` - 4 (or `by` - 8) ORs in the last 4 (or 8). ORing some bits twice
 * is harmless. */

/* A word with the lowest bit of each of four groups. */
FOLD_INLINE uint64_t four_places(unsigned by)
{
    return 1 | 1ULL << by | 1ULL << 2 * by | 1ULL << 3 * by;
}

/* Moves the lowest bits of four neighbouring groups together. `fours` has the lowest bit of each
 * such four. */
FOLD_INLINE uint64_t gather_fours(uint64_t bits, unsigned by, uint64_t fours)
{
    bits &= fours * four_places(by);
    bits = (bits | bits >> (by - 1)) & fours * (3 | 3ULL << 2 * by);
    return (bits | bits >> 2 * (by - 1)) & fours * 15;
}

FOLD_INLINE uint64_t fold_8(uint64_t bits, unsigned by)
{
    bits |= bits >> 1;
    bits |= bits >> 2;
    bits = gather_fours(bits | bits >> (by - 4), by, 1 | 1ULL << 4 * by);
    return bits | bits >> 4 * (by - 1);
}

FOLD_INLINE uint64_t fold_4(uint64_t bits, unsigned by)
{
    bits |= bits >> 1;
    bits |= bits >> 2;
    bits |= bits >> 4;
    return gather_fours(bits | bits >> (by - 8), by, 1);
}

FOLD_INLINE void fold_bits_bytes(uint8_t *restrict to, const uint8_t *restrict from, size_t size,
                                 unsigned by)
{
    uint64_t words[FOLD_RUN];
    for (size_t done = 0; done < size; done += FOLD_RUN, to += FOLD_RUN, from += by * FOLD_RUN) {
        for (unsigned i = 0; i < FOLD_RUN; i++)
            words[i] = get64(from + by * i);
        for (unsigned i = 0; i < FOLD_RUN; i++)
            to[i] = (uint8_t)fold_8(words[i], by);
    }
}

FOLD_INLINE void fold_bits_halves(uint8_t *restrict to, const uint8_t *restrict from, size_t size,
                                  unsigned by)
{
    uint64_t low[FOLD_RUN], high[FOLD_RUN];
    for (size_t done = 0; done < size; done += FOLD_RUN, to += FOLD_RUN, from += by * FOLD_RUN) {
        for (unsigned i = 0; i < FOLD_RUN; i++) {
            low[i] = get64(from + by * i);
            high[i] = get64(from + by * i + by / 2);
        }
        for (unsigned i = 0; i < FOLD_RUN; i++)
            to[i] = (uint8_t)(fold_4(low[i], by) | fold_4(high[i] >> 4, by) << 4);
    }
}

/* ---- by other factors: one group after the other */

FOLD_INLINE bool any_byte(const uint8_t *from, uint64_t size)
{
    uint64_t i = 0;
    for (; size - i >= 8; i += 8)
        if (get64(from + i) != 0)
            return true;
    for (; i < size; i++)
        if (from[i] != 0)
            return true;
    return false;
}

/* Returns whether any of the `count` > 0 bits from `bit` on is set. */
FOLD_INLINE bool any_bit(const uint8_t *from, uint64_t bit, uint64_t count)
{
    const uint64_t byte = bit / 8, last = (bit + count - 1) / 8;
    const uint8_t head = (uint8_t)(0xFFu << bit % 8);
    const uint8_t tail = (uint8_t)(0xFFu >> (7 - (bit + count - 1) % 8));
    if (byte == last)
        return (from[byte] & head & tail) != 0;
    return (from[byte] & head) != 0 || (from[last] & tail) != 0 ||
           any_byte(from + byte + 1, last - byte - 1);
}

static void fold_bits_group(uint8_t *to, uint64_t j, const uint8_t *from, uint64_t bit, uint64_t n)
{
    to[j / 8] |= (uint8_t)(any_bit(from, bit, n) << j % 8);
}

FOLD_INLINE void fold_bits_groups(uint8_t *to, const uint8_t *from, size_t size, uint64_t by)
{
    const uint64_t mask = by < 64 ? (1ULL << by) - 1 : 0;
    for (size_t i = 0; i < size; i++, from += by) {
        unsigned folded = 0;
        uint64_t bit = 0;
        for (unsigned group = 0; group < 8; group++, bit += by) {
            const bool any =
                by <= 57 ? (get64(from + bit / 8) >> bit % 8 & mask) != 0 : any_bit(from, bit, by);
            folded |= (unsigned)any << group;
        }
        to[i] = (uint8_t)folded;
    }
}

/* ---- every factor */

/* For this factor and above, one loop over a whole group is faster than several steps, because it
 * ends at the first set bit. */
#define AT_ONCE 500

static uint64_t next_step_of_bits(uint64_t factor)
{
    static const uint8_t steps[] = { 4, 2, 15, 13, 11, 7, 5, 3 };
    return factor >= AT_ONCE ? factor : fold_divisor(factor, steps, sizeof steps);
}

/* With a constant factor, compilers compute the shifts and masks. */
FOLD_INLINE void step_bits(uint8_t *restrict to, const uint8_t *restrict from, size_t size,
                           uint64_t by)
{
    switch (by) {
        FOLD_CASE(2, fold_bits_by_2(to, from, size));
        FOLD_CASE(3, fold_bits_by_3(to, from, size));
        FOLD_CASE(4, fold_bits_by_4(to, from, size));
        FOLD_CASE(5, fold_bits_bytes(to, from, size, 5));
        FOLD_CASE(7, fold_bits_bytes(to, from, size, 7));
        FOLD_CASE(11, fold_bits_halves(to, from, size, 11));
        FOLD_CASE(13, fold_bits_halves(to, from, size, 13));
        FOLD_CASE(15, fold_bits_halves(to, from, size, 15));
    default:
        fold_bits_groups(to, from, size, by);
    }
}

FOLD_INLINE void unite_bits(uint8_t *restrict to, const uint8_t *restrict from, uint64_t size)
{
    uint64_t i = 0;
    for (; size - i >= FOLD_RUN; i += FOLD_RUN)
        for (unsigned b = 0; b < FOLD_RUN; b++)
            to[i + b] |= from[i + b];
    for (; i < size; i++)
        to[i] |= from[i];
}

FOLD_STEPS(, fold_classic, bits, 8);
FOLD_STEPS(FOLD_WIDE, fold_classic_wide, bits, 8);

void kernel_fold_classic(uint8_t *to, const uint8_t *from, uint64_t first, uint64_t count,
                         uint64_t factor)
{
    fold_by_steps(FOLD_IS_WIDE ? &fold_classic_wide : &fold_classic, to, from, first, count,
                  factor);
}
