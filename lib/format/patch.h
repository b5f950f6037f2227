/* SPDX-License-Identifier: MIT
 *
 * The head of a patch (doc/format/patches.md). It has the header of the result as edits to the
 * header of the base. Only patch.c uses the offsets.
 */
#ifndef BLOOMFILE_PATCH_H
#define BLOOMFILE_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATCH_VERSION     1u
#define PATCH_MAGIC       8u
#define PATCH_START       27u /* bytes before the first variable-length number */
#define PATCH_EDITS_MOST  8192u
#define PATCH_NUMBER_MOST 10u /* most bytes of a variable-length number */
#define PATCH_HEAD_MOST   (PATCH_START + 2 * PATCH_NUMBER_MOST + PATCH_EDITS_MOST + 4)

/* Bits of `features`. */
#define PATCH_OF_LAYER 1u /* a patch of a layer; a series has a patch for each layer, in order */
#define PATCH_FOLLOWED 2u /* the patch of the next layer follows */

/* The checksums that name an image. */
struct patch_name {
    uint32_t header; /* CRC of the header's three CRCs, since the CRC of bytes that end with their
                        CRC is constant */
    uint32_t body;
};

/* Returns the name of a header of `size` bytes. Its three checksums must be right. */
uint32_t patch_name_header(const uint8_t *header, uint32_t size);

struct patch_head {
    struct patch_name base, result;
    uint32_t features;
    uint32_t layout; /* this and the next two: of both images; the layout is known */
    uint64_t body_size;
    size_t edits_size;
    uint8_t edits[PATCH_EDITS_MOST];
};

/* Writes a variable-length number (LEB128): 7 bits in each byte, the lowest first. Returns its
 * size. */
size_t patch_put_number(uint8_t *to, uint64_t number);

/* Takes the next byte of a number. `at` is the byte's index; *number must be 0 at first. */
enum patch_taken {
    PATCH_MORE,
    PATCH_TAKEN,
    PATCH_WRONG,
};
enum patch_taken patch_take_number(uint64_t *number, unsigned at, uint8_t byte);

/* Returns whether a file with these first PATCH_MAGIC bytes is a patch. */
bool patch_begins(const uint8_t bytes[PATCH_MAGIC]);

/* Checks the first PATCH_START bytes of a patch. Sets features, layout and names of *head. Returns
 * 0, BLOOMFILE_EPATCH, _EVERSION, _EFEATURE or _ELAYOUT. */
int patch_decode_start(const uint8_t bytes[PATCH_START], struct patch_head *head);

/* Writes at most PATCH_HEAD_MOST bytes. Returns their number. */
size_t patch_encode_head(const struct patch_head *head, uint8_t *bytes);

/* Sets head->edits to the edits that turn the header `base` into `result`. Both have `size` bytes
 * and belong to valid sealed images, whose body_crc is in head->base and head->result. */
void patch_make_edits(struct patch_head *head, const uint8_t *base, const uint8_t *result,
                      uint32_t size);

/* Makes the header of the result from the header of the base. Returns 0, or BLOOMFILE_EPATCH if it
 * is not the header that the head names. */
int patch_apply_edits(const struct patch_head *head, const uint8_t *base, uint8_t *result,
                      uint32_t size);

#endif
