/* SPDX-License-Identifier: MIT
 * Which slices a filter is made of. */
#ifndef BLOOMFILE_TOOLS_MERGE_SLICES_H
#define BLOOMFILE_TOOLS_MERGE_SLICES_H

#include "bfmerge/sources.h"

/* Ends the program unless the sources are all slices of one filter, and says what is wrong. */
void merge_slices_check(const struct merge_sources *s);

/* Warns if the whole has fewer than three quarters of the keys that it was sized for. */
void merge_slices_warn(const struct merge_sources *s, const char *whole);

#endif
