/* SPDX-License-Identifier: MIT
 * The rules of validity of an image that is only a part: a layer of a series, or a slice of a
 * filter (format-spec.md, sections 21.1 and 23.1). Neither finds anything wrong with a whole
 * filter. */
#ifndef BLOOMFILE_PORTION_H
#define BLOOMFILE_PORTION_H

#include "format/header.h"

#define PORTION_MOST_SLICES 65536u

/* What the static header says. */
void portion_check(const uint8_t *bytes, const struct header *h, struct header_faults *faults);

/* What it says of the state of the record in force. */
void portion_check_state(const struct header *h, struct header_faults *faults);

/* The first block of a slice, 0 to `slices`, of a filter of so many blocks: whole pages each. */
uint64_t portion_first_block(uint64_t blocks, uint32_t slice, uint32_t slices);

/* The slice in which a block of it lies. */
uint32_t portion_slice_of(uint64_t blocks, uint64_t block, uint32_t slices);

#endif
