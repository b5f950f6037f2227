/* SPDX-License-Identifier: MIT
 * The slices that a filter is made of, and a check of them. */
#ifndef BLOOMFILE_TOOLS_MERGE_SLICES_H
#define BLOOMFILE_TOOLS_MERGE_SLICES_H

#include "bfmerge/sources.h"

/* Ends the program unless the sources are all slices of one filter, and says what is wrong; unless
 * `as_is` also if keys that a slice left out may be in no other. */
void merge_slices_check(const struct merge_sources *s, bool as_is);

/* Ends the program if the whole would have more than twice the false-positive rate that was
 * promised. */
void merge_slices_check_capacity(const struct merge_sources *s, const char *whole);

#endif
