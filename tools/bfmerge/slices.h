/* SPDX-License-Identifier: MIT
 * Which slices a filter is made of. */
#ifndef BLOOMFILE_TOOLS_MERGE_SLICES_H
#define BLOOMFILE_TOOLS_MERGE_SLICES_H

#include "bfmerge/sources.h"

/* Ends the program unless the sources are all slices of one filter, and says what is wrong. */
void merge_slices_check(const struct merge_sources *s);

#define MERGE_SLICES_DEFAULT UINT64_MAX

/* Ends the program if the whole would have fewer keys; with MERGE_SLICES_DEFAULT, fewer than three
 * quarters of those that it was sized for. */
void merge_slices_count(const struct merge_sources *s, const char *whole, uint64_t min_keys);

/* Whether the whole has more than twice the false-positive rate that was promised, with a warning.
 */
bool merge_slices_are_overfull(const struct merge_sources *s, const char *whole);

#endif
