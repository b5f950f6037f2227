/* SPDX-License-Identifier: MIT
 *
 * Bytes that other threads and processes may be changing: the body and the records of a live file.
 * The words are those of the format, little-endian. Nothing is ordered by them: whoever learns of
 * an add learns of it by other means, which order it.
 */
#ifndef BLOOMFILE_SHARED_H
#define BLOOMFILE_SHARED_H

#include <stdbool.h>
#include <stdint.h>

#include "format/bytes.h"

typedef uint64_t __attribute__((aligned(8))) shared_word; /* on 32-bit machines too */
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

/* Sets bits, and returns which of them were not set. */
static inline uint64_t shared_set64(void *aligned, uint64_t bits)
{
    uint64_t before =
        __atomic_fetch_or((shared_word *)aligned, BYTES_SWAP64(bits), __ATOMIC_RELAXED);
    return bits & ~BYTES_SWAP64(before);
}

/* What was loaded or set before it was so before what comes after it is loaded. On x86 the
 * processor sees to that: it loads in order, and waits for bits to be set. */
static inline void shared_order(void)
{
#if defined __x86_64__ || defined __i386__
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
#else
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
#endif
}

/* For code that loads several words at once, which no atomic does: those who change words meanwhile
 * only set bits, so it does not matter in what pieces the hardware loads them. */
#define SHARED_WIDE_LOADS __attribute__((no_sanitize("thread")))

/* Changes *p from *seen to `to`; if it is something else by now, that goes into *seen. */
static inline bool shared_change8(uint8_t *p, uint8_t *seen, uint8_t to)
{
    return __atomic_compare_exchange_n(p, seen, to, true, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

#endif
