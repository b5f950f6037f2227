/* SPDX-License-Identifier: MIT
 * Decoding of bytes into a valid header (format-spec.md, section 13).
 */
#ifndef BLOOMFILE_FORMAT_DECODE_H
#define BLOOMFILE_FORMAT_DECODE_H

#include "format/header.h"

/* Decodes the header of an image of `image_size` bytes; `bytes` has the first min(image_size,
 * HEADER_MAX) of them. Fills in *faults, and the members of *h that these bytes cover, even if
 * invalid. *h may be trusted only if faults->first is 0. */
ONCE_A_FILE void decode_header(const uint8_t *bytes, uint64_t image_size, struct header *h,
                               struct header_faults *faults);

/* Returns whether the image is sealed except for its other record, because sealing in place stopped
 * before it wrote that record (doc/format/live.md). `faults` are those of decode_header(). */
bool decode_seal_unfinished(const struct header *h, const struct header_faults *faults);

/* ---- the validity rules of partial images: layers of a series, and slices of a filter
 * (doc/format/slices.md 2.1 and 1.1). A whole filter always passes. */

#define PARTIAL_MOST_SLICES 65536u

/* Checks the static header. */
void partial_check(const uint8_t *bytes, const struct header *h, struct header_faults *faults);

/* Checks the state of the record in force against the static header. */
void partial_check_state(const struct header *h, struct header_faults *faults);

/* The first block of a slice, from 0 to `slices`, of a filter of `blocks` blocks. Slices are whole
 * pages. */
uint64_t partial_first_block(uint64_t blocks, uint32_t slice, uint32_t slices);

/* The slice that a block belongs to. */
uint32_t partial_slice_of(uint64_t blocks, uint64_t block, uint32_t slices);

#endif
