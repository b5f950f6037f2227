/* SPDX-License-Identifier: MIT
 * Decoding of bytes into a valid header (format-spec.md, section 13). No file descriptor, no
 * allocation.
 */
#ifndef BLOOMFILE_FORMAT_DECODE_H
#define BLOOMFILE_FORMAT_DECODE_H

#include "format/header.h"

/* Decodes the header of an image of `image_size` bytes: `bytes` holds the first min(image_size,
 * HEADER_MAX) of them. Fills *h as far as there are bytes, right or wrong, and *faults. Only if
 * faults->first is 0 may *h be trusted. */
ONCE_A_FILE void decode_header(const uint8_t *bytes, uint64_t image_size, struct header *h,
                               struct header_faults *faults);

/* Whether the image is a sealed one but for its other record, which sealing in place was about to
 * write (doc/format/live.md). `faults` are those of decode_header(). */
bool decode_seal_unfinished(const struct header *h, const struct header_faults *faults);

/* ---- The rules of validity of an image that is only a part: a layer of a series, or a slice
 * of a filter (doc/format/slices.md 2.1 and 1.1). Neither finds anything wrong with a
 * whole filter. */

#define PARTIAL_MOST_SLICES 65536u

/* What the static header says. */
void partial_check(const uint8_t *bytes, const struct header *h, struct header_faults *faults);

/* What it says of the state of the record in force. */
void partial_check_state(const struct header *h, struct header_faults *faults);

/* The first block of a slice, 0 to `slices`, of a filter of so many blocks: whole pages each. */
uint64_t partial_first_block(uint64_t blocks, uint32_t slice, uint32_t slices);

/* The slice in which a block of it lies. */
uint32_t partial_slice_of(uint64_t blocks, uint64_t block, uint32_t slices);

#endif
