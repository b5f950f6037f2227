/* SPDX-License-Identifier: MIT
 * Bytes to a header that is valid (format-spec.md, section 11). No file descriptor, no allocation.
 */
#ifndef BLOOMFILE_DECODE_H
#define BLOOMFILE_DECODE_H

#include "format/header.h"

/* Decodes the header of an image of `image_size` bytes: `bytes` holds the first min(image_size,
 * HEADER_MAX) of them. Fills *h as far as there are bytes, right or wrong, and *faults. Only if
 * faults->first is 0 may *h be trusted. */
void decode_header(const uint8_t *bytes, uint64_t image_size, struct header *h,
                   struct header_faults *faults);

/* Whether the image is a sealed one but for its other record, which sealing in place was about to
 * write (format-spec.md, section 13). `faults` are those of decode_header(). */
bool decode_seal_unfinished(const struct header *h, const struct header_faults *faults);

#endif
