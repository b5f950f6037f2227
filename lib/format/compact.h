/* SPDX-License-Identifier: MIT
 *
 * The compact form: a body and a trailer of 8 bytes (format-spec.md, annex B). As header.c does for
 * images, this turns bytes into a checked shape and back, and alone knows the offsets.
 */
#ifndef BLOOMFILE_COMPACT_H
#define BLOOMFILE_COMPACT_H

#include <bloomfile.h>
#include <bloomfile_view.h>

/* Writes the trailer behind a body of view->size bytes. */
void compact_encode(uint8_t *bytes, uint64_t seed, const struct bloomfile_view *view);

/* Whether the trailer's checksum is right, and that of the seed. */
bool compact_is_whole(const uint8_t *bytes, size_t size, uint64_t seed);

/* The shape that the trailer claims: a known layout; hashes, bits and size, which may contradict
 * each other. Errors: BLOOMFILE_ECOMPACT, _EVERSION, _ELAYOUT, _EHASH. */
int compact_decode(const uint8_t *bytes, size_t size, struct bloomfile_view *view);

#endif
