/* SPDX-License-Identifier: MIT
 * Which slices a filter is made of. */
#ifndef BLOOMFILE_TOOLS_MERGE_SLICES_H
#define BLOOMFILE_TOOLS_MERGE_SLICES_H

#include "bfmerge/sources.h"

/* Ends the program unless the sources are all slices of one filter, and says what is wrong; unless
 * `as_is` also if keys that a slice left out may be in no other. */
void merge_slices_check(const struct merge_sources *s, bool as_is);

/* Whether the whole has more than twice the false-positive rate that was promised, with a warning.
 */
bool merge_slices_are_overfull(const struct merge_sources *s, const char *whole);

#endif
