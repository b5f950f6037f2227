/* SPDX-License-Identifier: MIT
 * For every processor, and the choice. */
#define STEPS_TARGET
#define STEPS_SELECT cells_select
#include "delta/steps_of.h"

const struct steps steps_plain = STEPS;

const struct steps *steps_best(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt"))
        return &steps_bmi2;
#endif
    return &steps_plain;
}
