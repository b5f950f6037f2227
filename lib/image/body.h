/* SPDX-License-Identifier: MIT
 * One pass over a whole body: checksums and counts (format-spec.md, section 10.4). */
#ifndef BLOOMFILE_BODY_H
#define BLOOMFILE_BODY_H

#include <bloomfile_inspect.h>

#include "format/header.h"
#include "image/guard.h"
#include "kernel/kernel.h"

/* Takes pages in order, wherever each of them is in memory. h: layout, m and header_size are
 * sound. */
struct body_pass {
    struct geometry geometry;
    const struct kernel *kernel;
    struct checksum_sum sum; /* .crc: of the body so far */
    struct kernel_tally tally;
    uint64_t page; /* the next one */
};
void body_pass_start(struct body_pass *pass, const struct header *h);
uint32_t body_pass_page(struct body_pass *pass, const uint8_t *page); /* returns its CRC-32 */

/* Skips to a later page, which somebody else must have passed; and joins the two in the end. */
void body_pass_skip(struct body_pass *pass, uint64_t page);
void body_pass_join(struct body_pass *pass, const struct body_pass *other);

/* Whether all bits beyond m are zero, in the last byte that m uses and in those after it; if not,
 * *offset tells in which. */
bool body_padding_is_clean(const struct header *h, const uint8_t *body, uint64_t *offset);

/* The same of the last page alone, in which all of them are. */
bool body_last_page_is_clean(const struct header *h, const uint8_t *page);

/* body_verify() in pieces: what has been read of a sealed body so far. */
struct body_check {
    const struct header *h;
    const uint8_t *body;
    struct guard *guard;
    uint64_t renewals; /* of the guard, before any page was read */
    struct body_pass pass;
    uint64_t first_bad; /* page; UINT64_MAX: none */
    uint64_t stain; /* offset of the first byte of the padding that is not 0; UINT64_MAX: none */
};
void body_check_start(struct body_check *check, const struct header *h, const uint8_t *body,
                      struct guard *guard);

/* Checks the next pages: those bytes, of the body or copied from it. The body may change
 * afterwards, so what a result is made from must be a copy. */
void body_check_pages(struct body_check *check, const uint8_t *bytes, uint64_t pages);

/* Copies the next pages to `to` and checks the copies. The last page may be shorter. */
void body_check_copy(struct body_check *check, uint8_t *to, uint64_t pages);

/* Skips to a later page. Somebody else must check what was skipped, and only that. */
void body_check_skip(struct body_check *check, uint64_t page);

/* Joins what another has checked; both are at the end. */
void body_check_join(struct body_check *check, const struct body_check *other);
int body_check_end(struct body_check *check, struct bloomfile_fault *fault);

/* Checks a sealed body with that many threads; marks every page in the guard, and a contradiction
 * with the header. *fault (may be NULL): the first one found. 0, BLOOMFILE_EPAGE or
 * BLOOMFILE_EBODY. */
int body_verify(const struct header *h, const uint8_t *body, struct guard *guard, unsigned threads,
                struct bloomfile_fault *fault);

#endif
