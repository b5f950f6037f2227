/* SPDX-License-Identifier: MIT
 * In place of lib/format/shared.h: bits that are set by a plain |=, for showing that the tests of
 * concurrent adds notice it. */
#define shared_set64 shared_set64_atomic
#include "../lib/format/shared.h"
#undef shared_set64

static inline uint64_t shared_set64(void *aligned, uint64_t bits)
{
    volatile uint64_t *word = aligned;
    uint64_t before = *word;
    *word = before | bits;
    return bits & ~before;
}
