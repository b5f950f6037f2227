/* SPDX-License-Identifier: MIT
 * For processors that find the n-th one bit of a word in one instruction. */
#include <immintrin.h>

#define STEPS_TARGET          __attribute__((target("bmi,bmi2,popcnt")))
#define STEPS_SELECT(word, n) ((unsigned)__builtin_ctzll(_pdep_u64(1ull << (n), word)))
#include "delta/changes_impl.h"

const struct changes changes_bmi2 = STEPS;
