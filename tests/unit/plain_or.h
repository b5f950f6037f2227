/* SPDX-License-Identifier: MIT
 * In place of lib/format/bytes.h: bits that are set by a plain |=, for showing that the
 * tests of concurrent adds notice it. */
#define shared_set64 shared_set64_atomic
#include "../../lib/format/bytes.h"
#undef shared_set64

#include <sched.h>

/* Now and then another process runs in between, on one processor too. */
static inline uint64_t shared_set64(void *aligned, uint64_t bits)
{
    volatile uint64_t *word = aligned;
    static _Thread_local unsigned calls;
    uint64_t before = *word;
    if (++calls % 256 == 0)
        sched_yield();
    *word = before | bits;
    return bits & ~before;
}
