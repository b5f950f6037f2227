/* SPDX-License-Identifier: MIT
 * One pass over a whole body: checksums and counts (format-spec.md, section 10.4). */
#ifndef BLOOMFILE_BODY_H
#define BLOOMFILE_BODY_H

#include "guard.h"
#include "header.h"
#include "kernel.h"

struct body_sums {
    uint32_t crc;
    struct kernel_tally tally;
};

/* Calls visit(context, page, CRC-32 of the page) for each page in order, and sums up. h: layout, m
 * and header_size are sound. */
void body_walk(const struct header *h, const uint8_t *body, struct body_sums *sums,
               void (*visit)(void *context, uint64_t page, uint32_t crc), void *context);

/* Whether all bits beyond m are zero, in the last byte that m uses and in those after it; if not,
 * *offset tells in which. */
bool body_padding_is_clean(const struct header *h, const uint8_t *body, uint64_t *offset);

/* Checks a sealed body, tells the guard of every page, and of a contradiction with the header;
 * *fault (may be NULL) tells the first. 0, BLOOMFILE_EPAGE or BLOOMFILE_EBODY. */
int body_verify(const struct header *h, const uint8_t *body, struct guard *guard,
                struct bloomfile_fault *fault);

#endif
