/* SPDX-License-Identifier: MIT
 * The bytes of a part. */
#ifndef BLOOMFILE_ENCODE_H
#define BLOOMFILE_ENCODE_H

#include "delta/part.h"
#include "delta/steps.h"

/* A part ends with the page with which it has so many changes, or so many in so many pages. */
#define ENCODE_MANY  32768u
#define ENCODE_SOME  1024u
#define ENCODE_PAGES 1024u

struct encoder {
    enum cells_kind kind;
    const struct steps *steps;
    struct steps_found found[CELLS_CHANGES];
    uint8_t *bytes; /* room for a part */
};

/* 0 or ENOMEM; encoder_release() is due in any case. */
int encoder_start(struct encoder *e, enum cells_kind kind);
void encoder_release(struct encoder *e);

/* Two bodies, and how many cells differ in each page. */
struct encode_source {
    const uint8_t *old, *new;
    uint64_t body_size;
    const uint16_t *changes;
};

/* Encodes `span` pages from `page` on, which come after `skip` that are as before. Returns the
 * bytes of the part, in the encoder, and their number; NULL if a body has changed since it was
 * compared, so that there is no room. */
const uint8_t *encode_part(struct encoder *e, const struct encode_source *source, uint64_t page,
                           uint64_t skip, uint64_t span, size_t *size);

#endif
