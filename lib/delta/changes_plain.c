/* SPDX-License-Identifier: MIT
 * Changes between bodies, for every processor; and the choice of the implementation. */
#define CHANGES_TARGET
#define CHANGES_SELECT cells_select
#include "delta/changes_impl.h"

const struct changes changes_plain = CHANGES_FUNCTIONS;

const struct changes *changes_best(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("bmi2") && __builtin_cpu_supports("popcnt"))
        return &changes_bmi2;
#endif
    return &changes_plain;
}
