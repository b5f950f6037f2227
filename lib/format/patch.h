/* SPDX-License-Identifier: MIT
 *
 * Patches (doc/format/patches.md): the head, and the header of the result as edits of the base's.
 * No other file knows the offsets.
 */
#ifndef BLOOMFILE_PATCH_H
#define BLOOMFILE_PATCH_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define PATCH_VERSION     1u
#define PATCH_MAGIC       8u
#define PATCH_START       27u /* bytes before the numbers of variable size */
#define PATCH_EDITS_MOST  8192u
#define PATCH_NUMBER_MOST 10u /* bytes of a number of variable size */
#define PATCH_HEAD_MOST   (PATCH_START + 2 * PATCH_NUMBER_MOST + PATCH_EDITS_MOST + 4)

/* Bits of `features`. */
#define PATCH_OF_LAYER 1u /* of a series: its patches, one a layer, are behind one another */
#define PATCH_FOLLOWED 2u /* by that of the next layer */

/* The checksums that name an image. */
struct patch_name {
    uint32_t header; /* of its three checksums: that of the bytes would always be the same */
    uint32_t body;
};

/* The name of a header of `size` bytes, whose own checksums are right. */
uint32_t patch_name_header(const uint8_t *header, uint32_t size);

struct patch_head {
    struct patch_name base, result;
    uint32_t features;
    uint32_t layout; /* of both, as the rest; a known one */
    uint64_t body_size;
    size_t edits_size;
    uint8_t edits[PATCH_EDITS_MOST];
};

/* Numbers of variable size: 7 bits a byte, the lowest first. */
size_t patch_put_number(uint8_t *to, uint64_t number); /* returns how many bytes it took */

/* Takes the next byte of a number. `at` counts its bytes, from 0; *number is 0 at first. */
enum patch_taken {
    PATCH_MORE,
    PATCH_TAKEN,
    PATCH_WRONG,
};
enum patch_taken patch_take_number(uint64_t *number, unsigned at, uint8_t byte);

/* Whether these first PATCH_MAGIC bytes are those of a patch. */
bool patch_begins(const uint8_t bytes[PATCH_MAGIC]);

/* Whether these first PATCH_START bytes may be those of a patch. 0, BLOOMFILE_EPATCH, _EVERSION,
 * _EFEATURE or _ELAYOUT. Sets features, layout and names of *head. */
int patch_decode_start(const uint8_t bytes[PATCH_START], struct patch_head *head);

/* Writes at most PATCH_HEAD_MOST bytes, and returns how many. */
size_t patch_encode_head(const struct patch_head *head, uint8_t *bytes);

/* Sets head->edits to those that turn one header into the other; both are of valid sealed images
 * whose body_crc is in head->base and ->result, and have `size` bytes. */
void patch_make_edits(struct patch_head *head, const uint8_t *base, const uint8_t *result,
                      uint32_t size);

/* Makes the header of the result from that of the base. BLOOMFILE_EPATCH: it is not the one that
 * the head names. */
int patch_apply_edits(const struct patch_head *head, const uint8_t *base, uint8_t *result,
                      uint32_t size);

#endif
