/* SPDX-License-Identifier: MIT
 * Folds whole words where the factor allows. */
#include "kernel/fold.h"

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

/* At least 57 bits from `bit` on; all 8 bytes are readable. */
static inline uint64_t window(const uint8_t *from, uint64_t bit)
{
    return get64(from + bit / 8) >> bit % 8;
}

/* ORs at most 57 bits into unit j and up; all 8 bytes are writable. */
static inline void or_bits(uint8_t *to, uint64_t j, uint64_t bits)
{
    put64(to + j / 8, get64(to + j / 8) | bits << j % 8);
}

/* The OR of each pair among 32 bits. */
static inline uint64_t fold_pairs(uint64_t bits)
{
    bits = (bits | bits >> 1) & 0x55555555;
    bits = (bits | bits >> 1) & 0x33333333;
    bits = (bits | bits >> 2) & 0x0F0F0F0F;
    bits = (bits | bits >> 4) & 0x00FF00FF;
    return (bits | bits >> 8) & 0x0000FFFF;
}

/* The OR of each of 16 groups of `factor` bits, at most 57 bits in all. */
static inline uint64_t fold_groups(const uint8_t *from, uint64_t bit, uint64_t factor)
{
    const uint64_t mask = (1ULL << factor) - 1;
    uint64_t bits = 0;
    for (unsigned i = 0; i < 16; i++, bit += factor)
        bits |= (uint64_t)((window(from, bit) & mask) != 0) << i;
    return bits;
}

/* Folds whole groups from `bit` on into unit j and up, while words fit on both sides. Returns how
 * many. */
static uint64_t fold_many(uint8_t *to, const uint8_t *from, uint64_t j, uint64_t bit,
                          uint64_t count, uint64_t factor)
{
    const uint64_t groups = factor <= 57 ? (count - bit) / factor : 0;
    uint64_t done = 0;
    for (; groups - done >= 16 + 64; done += 16, bit += 16 * factor)
        or_bits(to, j + done,
                factor == 2 ? fold_pairs(window(from, bit) & 0xFFFFFFFF)
                            : fold_groups(from, bit, factor));
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
        to[j / 8] |= (uint8_t)(any_bit(from, bit, n) << j % 8);
        bit += n;
        if (bit == n) {
            uint64_t many = fold_many(to, from, j + 1, bit, count, factor);
            bit += many * factor;
            j += many;
        }
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

static inline uint8_t add_pair(uint8_t a, uint8_t b)
{
    unsigned low = (a & 15u) + (b & 15u), high = (a >> 4) + (b >> 4);
    return (uint8_t)((low < 15 ? low : 15) | (high < 15 ? high : 15) << 4);
}

void kernel_fold_counting(uint8_t *to, const uint8_t *from, uint64_t first, uint64_t count,
                          uint64_t factor)
{
    if (factor == 1) {
        for (uint64_t i = 0; i < (count + 1) / 2; i++)
            to[first / 2 + i] = add_pair(to[first / 2 + i], from[i]);
        return;
    }
    uint64_t j = first / factor, n = group(first, count, factor);
    for (uint64_t i = 0; i < count; j++) {
        uint64_t sum = 0;
        for (const uint64_t end = i + n; i < end; i++)
            sum += nibble(from, i);
        add_to(to, j, sum);
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
