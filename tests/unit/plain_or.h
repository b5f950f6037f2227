/* SPDX-License-Identifier: MIT
 * A replacement of lib/format/bytes.h that sets bits by a plain |=. It shows that the tests of
 * concurrent adds notice the lost bits. */
#define shared_set64 shared_set64_atomic
#include "../../lib/format/bytes.h"
#undef shared_set64

#include <sched.h>

/* Yields between load and store at times, so that another process interferes even on one
 * processor. */
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
