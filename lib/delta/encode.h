/* SPDX-License-Identifier: MIT
 * Encoding a part of a patch. */
#ifndef BLOOMFILE_ENCODE_H
#define BLOOMFILE_ENCODE_H

#include "delta/changes.h"
#include "delta/part.h"
#include "image/body.h"

/* A part ends with the page that brings it to ENCODE_MANY changes, or to ENCODE_PAGES pages with at
 * least ENCODE_SOME changes. */
#define ENCODE_MANY  32768u
#define ENCODE_SOME  1024u
#define ENCODE_PAGES 1024u

enum {
    ENCODE_OLD,
    ENCODE_NEW,
    ENCODE_BOTH,
};

struct encoder {
    enum cells_kind kind;
    const struct changes *changes;
    struct changes_found found[CELLS_CHANGES];
    uint8_t *bytes;                        /* room for a part */
    struct body_check checks[ENCODE_BOTH]; /* checks of the pages with changes */
    _Alignas(CELLS_UNIT_SIZE) uint8_t pages[ENCODE_BOTH][CHECKSUM_PAGE]; /* copies */
};

/* checks: body_check_start() of both bodies. Returns 0 or ENOMEM. Always call encoder_release(). */
int encoder_start(struct encoder *e, enum cells_kind kind, const struct body_check *checks);
void encoder_release(struct encoder *e);

/* The number of cells that differ in each page. Pages without changes have been checked. */
struct encode_source {
    uint64_t body_size;
    const uint16_t *changes;
};

/* Encodes `span` pages from `page` on, after `skip` unchanged pages. Returns the bytes of the part,
 * in the encoder's memory, and sets *size. Returns NULL if a page is damaged (see the checks), or
 * if a body has changed since the pages were compared. */
const uint8_t *encode_part(struct encoder *e, const struct encode_source *source, uint64_t page,
                           uint64_t skip, uint64_t span, size_t *size);

#endif
