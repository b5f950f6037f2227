/* SPDX-License-Identifier: MIT
 * A second implementation of lookups in the layout ribbon, one bit at a time
 * (doc/format/ribbon.md). */
#ifndef BLOOMFILE_TESTS_PLAIN_RIBBON_H
#define BLOOMFILE_TESTS_PLAIN_RIBBON_H

#include <stdbool.h>

#include "format/bytes.h"

#define PLAIN_C 0x9E3779B97F4A7C15u
#define PLAIN_D 0xD1B54A32D192ED03u
#define PLAIN_E 0x8CB92BA72F3D8DD7u

struct plain_key {
    uint64_t h, a;
    unsigned b;
};

static inline uint64_t plain_mulhi(uint64_t a, uint64_t b)
{
    uint64_t high = 0, low = 0;
    for (unsigned i = 64; i-- > 0;) {
        high = high << 1 | low >> 63;
        low <<= 1;
        if (b >> i & 1) {
            low += a;
            high += low < a;
        }
    }
    return high;
}

static inline uint64_t plain_mix(uint64_t a, uint64_t b)
{
    return plain_mulhi(a, b) ^ a * b;
}

static inline struct plain_key plain_key_of(uint64_t digest, unsigned q, unsigned seed)
{
    struct plain_key key = { .h = (plain_mix(digest ^ PLAIN_D, PLAIN_C) ^ seed * PLAIN_C) *
                                  PLAIN_D };
    key.b = (unsigned)((key.h >> 32) * (q - 1) >> 32);
    key.a = plain_mix(key.h ^ PLAIN_E, PLAIN_C);
    return key;
}

/* Columns of block b, and the words before it. */
static inline unsigned plain_columns_of(unsigned q, unsigned words, unsigned b, unsigned *before)
{
    const unsigned r = words / q < 32 ? words / q : 32;
    const unsigned few = r == 32 ? q : q * (r + 1) - words;
    *before = b * r + (b > few ? b - few : 0);
    return r + (b >= few);
}

static inline bool plain_parity(uint64_t x)
{
    bool odd = false;
    for (; x != 0; x &= x - 1)
        odd = !odd;
    return odd;
}

static inline bool plain_page_has(const uint8_t *page, unsigned lines, uint64_t digest)
{
    const uint64_t head = get64(page);
    const unsigned words = 16 * lines - 2, q = head & 0xFFFF;
    unsigned before;
    if (q < 2 || q > words / 2 || (head >> 23 & 511) != 0)
        return true;
    const struct plain_key key = plain_key_of(digest, q, head >> 16 & 127);
    const unsigned c = plain_columns_of(q, words, key.b, &before);
    for (unsigned j = 0; j < c; j++) {
        const uint64_t low = get32(page + 8 + 4 * (before + j));
        const uint64_t high = get32(page + 8 + 4 * (before + c + j));
        if (plain_parity((low | high << 32) & key.a) != (key.h >> j & 1))
            return false;
    }
    return true;
}

static inline bool plain_body_has(const uint8_t *body, uint64_t lines, uint64_t digest)
{
    const uint64_t page = plain_mulhi(digest, lines) / 64, rest = lines - 64 * page;
    return plain_page_has(body + page * 4096, rest < 64 ? (unsigned)rest : 64, digest);
}

#endif
