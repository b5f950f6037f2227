/* SPDX-License-Identifier: MIT
 * Changes between bodies, for processors that find the n-th one bit of a word in one instruction.
 */
#include <immintrin.h>

#define CHANGES_TARGET          __attribute__((target("bmi,bmi2,popcnt")))
#define CHANGES_SELECT(word, n) ((unsigned)__builtin_ctzll(_pdep_u64(1ull << (n), word)))
#include "delta/changes_impl.h"

const struct changes changes_bmi2 = CHANGES_FUNCTIONS;
