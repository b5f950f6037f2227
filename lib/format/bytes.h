/* SPDX-License-Identifier: MIT
 * Little-endian integers at any alignment, and atomic access to bytes that other threads and
 * processes change. */
#ifndef BLOOMFILE_FORMAT_BYTES_H
#define BLOOMFILE_FORMAT_BYTES_H

#include <stdbool.h>
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

/* ---- bytes that other threads and processes may change: the body and the records of a live file
 *
 * Words are little-endian, as in the format. All accesses are relaxed. A thread that must see an
 * add synchronizes with the adder by other means, for example a mutex or a pipe. */

typedef uint64_t __attribute__((aligned(8))) shared_word; /* also on 32-bit machines */
#if __GCC_ATOMIC_LLONG_LOCK_FREE != 2
#error "64-bit atomics without locks are needed: a lock would be that of one process"
#endif

static inline uint8_t shared_load8(const uint8_t *p)
{
    return __atomic_load_n(p, __ATOMIC_RELAXED);
}

static inline uint32_t shared_load32(const void *aligned)
{
    return BYTES_SWAP32(__atomic_load_n((const uint32_t *)aligned, __ATOMIC_RELAXED));
}

static inline uint64_t shared_load64(const void *aligned)
{
    return BYTES_SWAP64(__atomic_load_n((const shared_word *)aligned, __ATOMIC_RELAXED));
}

/* Sets bits. Returns the bits that were clear before. */
static inline uint64_t shared_set64(void *aligned, uint64_t bits)
{
    uint64_t before =
        __atomic_fetch_or((shared_word *)aligned, BYTES_SWAP64(bits), __ATOMIC_RELAXED);
    return bits & ~BYTES_SWAP64(before);
}

/* shared_set64() for the only thread that changes the word: no locked instruction is needed. */
static inline uint64_t shared_set64_alone(void *aligned, uint64_t bits)
{
    uint64_t before = shared_load64(aligned);
    __atomic_store_n((shared_word *)aligned, BYTES_SWAP64(before | bits), __ATOMIC_RELAXED);
    return bits & ~before;
}

/* A barrier: loads and atomic changes before it take effect before any load after it. On x86 that
 * needs no instruction, because loads stay in order, and a locked instruction is a full barrier. */
static inline void shared_order(void)
{
#if defined __x86_64__ || defined __i386__
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* For functions that load several words by one vector instruction, for which C has no atomic type.
 * Concurrent changes only set bits, so it does not matter if the hardware splits the load. */
#define SHARED_WIDE_LOADS __attribute__((no_sanitize("thread")))

/* Returns whether shared_load32() would return `value`. Compilers fold a plain load into the
 * comparison, but not an atomic load. The lookups that call this are limited by their number of
 * instructions. */
SHARED_WIDE_LOADS static inline bool shared_is32(const void *aligned, uint32_t value)
{
    typedef uint32_t __attribute__((may_alias)) word;
    return *(const word *)aligned == BYTES_SWAP32(value);
}

/* A weak compare-and-swap of *p from *seen to `to`. On failure stores *p in *seen. */
static inline bool shared_change8(uint8_t *p, uint8_t *seen, uint8_t to)
{
    return __atomic_compare_exchange_n(p, seen, to, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

#endif
