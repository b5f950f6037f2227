/* SPDX-License-Identifier: MIT
 * Integers on disk: little-endian, at any alignment. */
#ifndef BLOOMFILE_BYTES_H
#define BLOOMFILE_BYTES_H

#include <stdint.h>
#include <string.h>

#if __BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__
#define BYTES_SWAP16(x) (x)
#define BYTES_SWAP32(x) (x)
#define BYTES_SWAP64(x) (x)
#else
#define BYTES_SWAP16(x) __builtin_bswap16(x)
#define BYTES_SWAP32(x) __builtin_bswap32(x)
#define BYTES_SWAP64(x) __builtin_bswap64(x)
#endif

static inline uint16_t get16(const uint8_t *p)
{
    uint16_t x;
    memcpy(&x, p, sizeof x);
    return BYTES_SWAP16(x);
}

static inline uint32_t get32(const uint8_t *p)
{
    uint32_t x;
    memcpy(&x, p, sizeof x);
    return BYTES_SWAP32(x);
}

static inline uint64_t get64(const uint8_t *p)
{
    uint64_t x;
    memcpy(&x, p, sizeof x);
    return BYTES_SWAP64(x);
}

static inline void put32(uint8_t *p, uint32_t x)
{
    x = BYTES_SWAP32(x);
    memcpy(p, &x, sizeof x);
}

static inline void put64(uint8_t *p, uint64_t x)
{
    x = BYTES_SWAP64(x);
    memcpy(p, &x, sizeof x);
}

#endif
