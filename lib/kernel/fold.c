/* SPDX-License-Identifier: MIT
 * Folds whole words where the factor allows. */
#include "kernel/functions.h"

#include "format/bytes.h"
#include "format/probe.h"

/* ---- blocked */

static void or_blocks(uint8_t *to, const uint8_t *from, uint64_t blocks)
{
    for (uint64_t i = 0; i < blocks * PROBE_BLOCK_BYTES; i++)
        to[i] |= from[i];
}

static void or_into_one(uint8_t *to, const uint8_t *from, uint64_t blocks)
{
    uint64_t sum[PROBE_BLOCK_BYTES / 8];
    for (unsigned w = 0; w < PROBE_BLOCK_BYTES / 8; w++)
        sum[w] = get64(to + 8 * w);
    for (; blocks > 0; blocks--, from += PROBE_BLOCK_BYTES)
        for (unsigned w = 0; w < PROBE_BLOCK_BYTES / 8; w++)
            sum[w] |= get64(from + 8 * w);
    for (unsigned w = 0; w < PROBE_BLOCK_BYTES / 8; w++)
        put64(to + 8 * w, sum[w]);
}

/* How many units from `first` on fold into the same one. */
static inline uint64_t group(uint64_t first, uint64_t count, uint64_t factor)
{
    uint64_t rest = factor - first % factor;
    return rest < count ? rest : count;
}

void kernel_fold_blocked(uint8_t *to, const uint8_t *from, uint64_t first, uint64_t count,
                         uint64_t factor)
{
    if (factor == 1) {
        or_blocks(to + first * PROBE_BLOCK_BYTES, from, count);
        return;
    }
    to += first / factor * PROBE_BLOCK_BYTES;
    for (uint64_t n = group(first, count, factor); count > 0; to += PROBE_BLOCK_BYTES) {
        or_into_one(to, from, n);
        from += n * PROBE_BLOCK_BYTES;
        count -= n;
        n = factor < count ? factor : count;
    }
}

/* ---- classic */

static inline bool any_byte(const uint8_t *from, uint64_t size)
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

/* Whether any of the `count` > 0 bits from `bit` on is one. */
static inline bool any_bit(const uint8_t *from, uint64_t bit, uint64_t count)
{
    const uint64_t byte = bit / 8, last = (bit + count - 1) / 8;
    const uint8_t head = (uint8_t)(0xFFu << bit % 8);
    const uint8_t tail = (uint8_t)(0xFFu >> (7 - (bit + count - 1) % 8));
    if (byte == last)
        return (from[byte] & head & tail) != 0;
    return (from[byte] & head) != 0 || (from[last] & tail) != 0 ||
           any_byte(from + byte + 1, last - byte - 1);
}

/* 64 bits from `bit` on; 16 bytes are readable. */
static inline uint64_t window(const uint8_t *from, uint64_t bit)
{
    const uint64_t low = get64(from + bit / 8), high = get64(from + bit / 8 + 8);
    return low >> bit % 8 | high << 1 << (63 - bit % 8);
}

/* The OR of each pair among 64 bits, in 32. */
static inline uint64_t fold_pairs(uint64_t bits)
{
    bits = (bits | bits >> 1) & 0x5555555555555555;
    bits = (bits | bits >> 1) & 0x3333333333333333;
    bits = (bits | bits >> 2) & 0x0F0F0F0F0F0F0F0F;
    bits = (bits | bits >> 4) & 0x00FF00FF00FF00FF;
    bits = (bits | bits >> 8) & 0x0000FFFF0000FFFF;
    return (bits | bits >> 16) & 0x00000000FFFFFFFF;
}

/* The OR of each three among 48 bits, in 16. */
static inline uint64_t fold_threes(uint64_t bits)
{
    bits = (bits | bits >> 1 | bits >> 2) & 0x0000249249249249;
    bits = (bits | bits >> 2) & 0x00000C30C30C30C3;
    bits = (bits | bits >> 4) & 0x0000F00F00F00F;
    bits = (bits | bits >> 8) & 0x0000FF0000FF;
    return (bits | bits >> 16) & 0xFFFF;
}

/* Folds 64 groups of 2, 3, 4, 6 or 8. */
static inline __attribute__((always_inline)) uint64_t fold_small(const uint8_t *from, uint64_t bit,
                                                                 unsigned factor)
{
    const unsigned chunk = factor % 3 == 0 ? 48 : 64;
    uint64_t word = 0;
    for (unsigned i = 0; i < 64; i += chunk / factor, bit += chunk) {
        uint64_t bits = window(from, bit);
        if (factor % 3 == 0)
            bits = fold_threes(bits);
        for (unsigned by = factor % 3 == 0 ? factor / 3 : factor; by > 1; by /= 2)
            bits = fold_pairs(bits);
        word |= bits << i;
    }
    return word;
}

/* The same one by one, for any factor up to 57. */
static inline uint64_t fold_groups(const uint8_t *from, uint64_t bit, uint64_t factor)
{
    const uint64_t mask = (1ULL << factor) - 1;
    uint64_t word = 0;
    for (unsigned i = 0; i < 64; i++, bit += factor)
        word |= (uint64_t)((get64(from + bit / 8) >> bit % 8 & mask) != 0) << i;
    return word;
}

/* Constants make the loops of small factors straight. */
static inline uint64_t fold_word(const uint8_t *from, uint64_t bit, uint64_t factor)
{
    switch (factor) {
    case 2:
        return fold_small(from, bit, 2);
    case 3:
        return fold_small(from, bit, 3);
    case 4:
        return fold_small(from, bit, 4);
    case 6:
        return fold_small(from, bit, 6);
    case 8:
        return fold_small(from, bit, 8);
    default:
        return fold_groups(from, bit, factor);
    }
}

/* Folds groups from `bit` on into unit j and up, which begins a word, while there are 64 more and
 * some bytes behind them. Returns how many. */
static uint64_t fold_words(uint8_t *to, const uint8_t *from, uint64_t j, uint64_t bit,
                           uint64_t count, uint64_t factor)
{
    uint64_t done = 0;
    to += j / 8;
    for (; count - bit >= 64 * factor + 128; done += 64, bit += 64 * factor, to += 8)
        put64(to, get64(to) | fold_word(from, bit, factor));
    return done;
}

void kernel_fold_classic(uint8_t *to, const uint8_t *from, uint64_t first, uint64_t count,
                         uint64_t factor)
{
    if (factor == 1) {
        for (uint64_t i = 0; i < (count + 7) / 8; i++)
            to[first / 8 + i] |= from[i];
        return;
    }
    uint64_t j = first / factor, n = group(first, count, factor);
    for (uint64_t bit = 0; bit < count; j++) {
        if (j % 64 == 0 && n == factor && factor <= 57) {
            const uint64_t done = fold_words(to, from, j, bit, count, factor);
            j += done;
            bit += done * factor;
        }
        to[j / 8] |= (uint8_t)(any_bit(from, bit, n) << j % 8);
        bit += n;
        n = factor < count - bit ? factor : count - bit;
    }
}

/* ---- counting */

static inline unsigned nibble(const uint8_t *from, uint64_t j)
{
    return from[j / 2] >> (4 * (j % 2)) & 15u;
}

static inline void add_to(uint8_t *to, uint64_t j, uint64_t more)
{
    const unsigned shift = 4 * (j % 2), old = nibble(to, j);
    const unsigned sum = more < 15 - old ? old + (unsigned)more : 15;
    to[j / 2] = (uint8_t)((to[j / 2] & ~(15u << shift)) | sum << shift);
}

#define LOW_NIBBLES 0x0F0F0F0F0F0F0F0FU

/* Bytes of up to 30, none above 15 any more. */
static inline uint64_t saturate(uint64_t sums)
{
    const uint64_t over = sums >> 4 & 0x0101010101010101;
    return (sums | ((over << 4) - over)) & LOW_NIBBLES;
}

/* The sums of 16 counters and 16 others. */
static inline uint64_t add_counters(uint64_t a, uint64_t b)
{
    const uint64_t low = saturate((a & LOW_NIBBLES) + (b & LOW_NIBBLES));
    const uint64_t high = saturate((a >> 4 & LOW_NIBBLES) + (b >> 4 & LOW_NIBBLES));
    return low | high << 4;
}

static void add_bodies(uint8_t *to, const uint8_t *from, uint64_t size)
{
    uint64_t i = 0;
    for (; size - i >= 8; i += 8)
        put64(to + i, add_counters(get64(to + i), get64(from + i)));
    for (; i < size; i++)
        to[i] = (uint8_t)add_counters(to[i], from[i]);
}

/* The sums of the pairs among 16 counters, in 8. */
static inline uint64_t add_pairs(uint64_t counters)
{
    uint64_t sums = saturate((counters & LOW_NIBBLES) + (counters >> 4 & LOW_NIBBLES));
    sums = (sums | sums >> 4) & 0x00FF00FF00FF00FF;
    sums = (sums | sums >> 8) & 0x0000FFFF0000FFFF;
    return (sums | sums >> 16) & 0x00000000FFFFFFFF;
}

/* The sum of the first `n` of 16 counters. */
static inline uint64_t sum_of(uint64_t counters, uint64_t n)
{
    counters &= UINT64_MAX >> (64 - 4 * n);
    counters = (counters & LOW_NIBBLES) + (counters >> 4 & LOW_NIBBLES);
    return counters * 0x0101010101010101 >> 56;
}

/* The sum of `n` counters from i on. */
static uint64_t sum_all(const uint8_t *from, uint64_t i, uint64_t n)
{
    uint64_t sum = 0;
    for (; n > 16; i += 15, n -= 15)
        sum += sum_of(get64(from + i / 2) >> 4 * (i % 2), 15);
    for (; n > 0; i++, n--)
        sum += nibble(from, i);
    return sum;
}

/* The sums of 16 groups, for any factor up to 15. */
static inline uint64_t add_groups(const uint8_t *from, uint64_t i, uint64_t factor)
{
    uint64_t word = 0;
    for (unsigned group = 0; group < 16; group++, i += factor) {
        const uint64_t sum = sum_of(get64(from + i / 2) >> 4 * (i % 2), factor);
        word |= (sum < 15 ? sum : 15) << 4 * group;
    }
    return word;
}

/* As fold_words(), of groups from counter i on into counter j and up. */
static uint64_t add_words(uint8_t *to, const uint8_t *from, uint64_t j, uint64_t i, uint64_t count,
                          uint64_t factor)
{
    uint64_t done = 0;
    to += j / 2;
    for (; count - i >= 16 * factor + 16; done += 16, i += 16 * factor, to += 8) {
        const uint64_t word =
            factor == 2 && i % 2 == 0
                ? add_pairs(get64(from + i / 2)) | add_pairs(get64(from + i / 2 + 8)) << 32
                : add_groups(from, i, factor);
        put64(to, add_counters(get64(to), word));
    }
    return done;
}

void kernel_fold_counting(uint8_t *to, const uint8_t *from, uint64_t first, uint64_t count,
                          uint64_t factor)
{
    if (factor == 1) {
        add_bodies(to + first / 2, from, (count + 1) / 2);
        return;
    }
    uint64_t j = first / factor, n = group(first, count, factor);
    for (uint64_t i = 0; i < count; j++) {
        if (j % 16 == 0 && n == factor && factor <= 15) {
            const uint64_t done = add_words(to, from, j, i, count, factor);
            j += done;
            i += done * factor;
        }
        add_to(to, j, sum_all(from, i, n));
        i += n;
        n = factor < count - i ? factor : count - i;
    }
}

void kernel_project_counting(uint8_t *to, const uint8_t *from, size_t size)
{
    for (size_t i = 0; i < size; i++) {
        const unsigned low = (from[i] & 0x0F) != 0, high = (from[i] & 0xF0) != 0;
        to[i / 4] |= (uint8_t)((low | high << 1) << 2 * (i % 4));
    }
}
