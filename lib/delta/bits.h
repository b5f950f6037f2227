/* SPDX-License-Identifier: MIT
 * Variable-length bit codes of numbers, packed from the lowest bit of each byte
 * (doc/format/patches.md 4).
 *
 * A Rice code of parameter k has the upper bits of a number in unary, as zeros before a 1, and then
 * its lowest k bits. A truncated code of a number below `size` has floor(log2(size)) or 1 bit more.
 */
#ifndef BLOOMFILE_BITS_H
#define BLOOMFILE_BITS_H

#include <stdbool.h>
#include <stddef.h>

#include "format/bytes.h"

#define BITS_SLACK      8u  /* bytes after a string that the reader may load */
#define BITS_PARAMETER  56u /* the greatest parameter of a Rice code */
#define BITS_AT_ONCE    57u /* bits that one load of 64 provides: up to 7 belong to earlier codes */
#define BITS_VALUE_MOST 62u /* bits of a number */

/* The best parameter of a Rice code for n numbers with that sum (patches.md 4). */
static inline unsigned bits_parameter(uint64_t sum, uint64_t n)
{
    const uint64_t twice = 2 * sum + n;
    if (twice < 4 * n)
        return 0;
    const unsigned k = (unsigned)(__builtin_clzll(2 * n) - __builtin_clzll(twice));
    return (n << (k + 1)) > twice ? k - 1 : k;
}

/* Returns the length in bits of the truncated code of a number below `size`. Numbers from
 * *short_ones on take one bit more. */
static inline unsigned bits_truncated(unsigned size, unsigned *short_ones)
{
    const unsigned bits = 31 - (unsigned)__builtin_clz(size);
    *short_ones = (2u << bits) - size;
    return bits;
}

/* ---- writing */

/* A bit writer. Its buffer needs room for the string and BITS_SLACK more bytes. */
struct bits_writer {
    uint8_t *at;
    uint64_t held;
    unsigned count; /* number of bits in `held`, below 8 between calls */
};

#define BITS_PUT_MOST 56u

/* Writes at most BITS_PUT_MOST bits. */
static inline void bits_put(struct bits_writer *w, uint64_t value, unsigned count)
{
    w->held |= value << w->count;
    w->count += count;
    put64(w->at, w->held);
    w->at += w->count / 8;
    w->held >>= w->count & ~7u;
    w->count %= 8;
}

static inline void bits_put_rice(struct bits_writer *w, uint64_t value, unsigned k)
{
    uint64_t zeros = value >> k;
    if (zeros + 1 + k <= BITS_PUT_MOST) {
        const uint64_t low = value & ((1ull << k) - 1);
        bits_put(w, (low << 1 | 1) << zeros, (unsigned)zeros + 1 + k);
        return;
    }
    for (; zeros >= 32; zeros -= 32)
        bits_put(w, 0, 32);
    bits_put(w, 1ull << zeros, (unsigned)zeros + 1);
    if (k > 32)
        bits_put(w, value & 0xFFFFFFFF, 32);
    const unsigned left = k > 32 ? k - 32 : k;
    bits_put(w, (k > 32 ? value >> 32 : value) & ((1ull << left) - 1), left);
}

static inline void bits_put_truncated(struct bits_writer *w, unsigned value, unsigned size)
{
    unsigned short_ones;
    const unsigned bits = bits_truncated(size, &short_ones);
    if (value < short_ones) {
        bits_put(w, value, bits);
        return;
    }
    bits_put(w, (value + short_ones) >> 1, bits);
    bits_put(w, (value + short_ones) & 1, 1);
}

/* Fills the last byte with zeros. Returns the end of the string. */
static inline uint8_t *bits_end(struct bits_writer *w)
{
    if (w->count > 0)
        bits_put(w, 0, 8 - w->count);
    return w->at;
}

/* ---- reading: an invalid code sets `wrong`, and every function then returns 0 */

struct bits_reader {
    const uint8_t *bytes;
    uint64_t at, end; /* in bits */
    bool wrong;
};

static inline uint64_t bits_look(const struct bits_reader *r)
{
    return get64(r->bytes + r->at / 8) >> r->at % 8;
}

static inline uint64_t bits_wrong(struct bits_reader *r)
{
    r->wrong = true;
    r->at = r->end;
    return 0;
}

static inline uint64_t bits_get(struct bits_reader *r, unsigned count)
{
    if (r->end - r->at < count)
        return bits_wrong(r);
    const uint64_t value = bits_look(r) & ((1ull << count) - 1);
    r->at += count;
    return value;
}

/* Reads zeros and the 1 after them. Returns the number of zeros. */
static inline uint64_t bits_get_zeros(struct bits_reader *r)
{
    const uint64_t from = r->at;
    uint64_t next;
    while ((next = bits_look(r) & ((1ull << BITS_AT_ONCE) - 1)) == 0) {
        if (r->end - r->at <= BITS_AT_ONCE)
            return bits_wrong(r);
        r->at += BITS_AT_ONCE;
    }
    const unsigned zeros = (unsigned)__builtin_ctzll(next);
    if (r->end - r->at <= zeros)
        return bits_wrong(r);
    r->at += zeros + 1;
    return r->at - from - 1;
}

static inline uint64_t bits_get_rice(struct bits_reader *r, unsigned k)
{
    const uint64_t next = bits_look(r) | 1ull << (BITS_AT_ONCE - 1);
    const unsigned size = (unsigned)__builtin_ctzll(next) + 1 + k;
    if (size < BITS_AT_ONCE && r->end - r->at >= size) { /* nearly always: one load has it all */
        r->at += size;
        return (uint64_t)(size - 1 - k) << k | (next >> (size - k) & ((1ull << k) - 1));
    }
    const uint64_t zeros = bits_get_zeros(r);
    if (zeros >> (BITS_VALUE_MOST - k) != 0)
        return bits_wrong(r);
    return zeros << k | bits_get(r, k);
}

static inline unsigned bits_get_truncated(struct bits_reader *r, unsigned size)
{
    unsigned short_ones;
    const unsigned bits = bits_truncated(size, &short_ones);
    const unsigned value = (unsigned)bits_get(r, bits);
    return value < short_ones ? value : 2 * value + (unsigned)bits_get(r, 1) - short_ones;
}

/* Returns whether the whole string was read, except for zeros in its last byte. */
static inline bool bits_at_end(const struct bits_reader *r)
{
    return !r->wrong && r->end - r->at < 8 &&
           (bits_look(r) & ((1ull << (r->end - r->at)) - 1)) == 0;
}

#endif
