/* SPDX-License-Identifier: MIT
 * One pass over a whole body: checksums and counts (format-spec.md, section 12.4). */
#ifndef BLOOMFILE_IMAGE_BODY_H
#define BLOOMFILE_IMAGE_BODY_H

#include <bloomfile_inspect.h>

#include "format/header.h"
#include "image/guard.h"
#include "kernel/kernel.h"

/* Takes the pages of a body in order; each page may be anywhere in memory. h: layout, m and
 * header_size are valid. */
struct body_pass {
    struct geometry geometry;
    const struct kernel *kernel;
    struct checksum_sum sum; /* .crc: of the body so far */
    bool weighed;            /* tally.blocks is counted, too */
    struct kernel_tally tally;
    uint64_t page; /* the next one */
};
void body_pass_start(struct body_pass *pass, const struct header *h);

/* Returns the CRC-32 of the page. next: the page read after it, which is only prefetched and need
 * not exist. */
uint32_t body_pass_page(struct body_pass *pass, const uint8_t *page, const uint8_t *next);

/* body_pass_skip(): skips to a later page; another pass must take the pages between.
 * body_pass_join(): joins two passes that are both at the end. */
void body_pass_skip(struct body_pass *pass, uint64_t page);
void body_pass_join(struct body_pass *pass, const struct body_pass *other);

/* Whether all bits beyond m are zero: in the last byte that m uses and in the bytes after it. If
 * not, *offset is the first byte with such a bit. */
bool body_padding_is_clean(const struct header *h, const uint8_t *body, uint64_t *offset);

/* The same for the last page alone, which has all these bits. */
bool body_last_page_is_clean(const struct header *h, const uint8_t *page);

/* body_verify() in pieces: the result for the pages of a sealed body read so far. */
struct body_check {
    const struct header *h;
    const uint8_t *body;
    struct guard *guard;
    uint64_t renewals; /* of the guard, before any page was read */
    uint64_t good;     /* bits of the present 64 pages: found good, not marked yet */
    struct body_pass pass;
    uint64_t first_bad; /* the first bad page; UINT64_MAX: all are good */
    uint64_t stain; /* offset of the first byte of padding that is not 0; UINT64_MAX: all are 0 */
};
void body_check_start(struct body_check *check, const struct header *h, const uint8_t *body,
                      struct guard *guard);

/* Checks the next pages. `bytes`: the pages, or a copy. The body may change after the check, so a
 * result must be made from a copy. Good pages are marked in the guard later: by body_check_skip()
 * or _end() at the latest. */
void body_check_pages(struct body_check *check, const uint8_t *bytes, uint64_t pages);

/* Copies the next pages to `to` and checks the copies. The last page may be shorter. */
void body_check_copy(struct body_check *check, uint8_t *to, uint64_t pages);

/* Skips to a later page. Another check must take the skipped pages, and only them. */
void body_check_skip(struct body_check *check, uint64_t page);

/* Joins the result of another check. Both are at the end. */
void body_check_join(struct body_check *check, const struct body_check *other);
int body_check_end(struct body_check *check, struct bloomfile_fault *fault);

/* Checks a sealed body in `threads` threads; marks in the guard every page, and a contradiction
 * with the header. *fault (may be NULL): the first fault. 0, BLOOMFILE_EPAGE or BLOOMFILE_EBODY. */
int body_verify(const struct header *h, const uint8_t *body, struct guard *guard, unsigned threads,
                struct bloomfile_fault *fault);

/* ---- A sealed image in memory: header, body, page checksums. */

/* Computes the rest of *h from the fields that describe the filter: header_size, layout, hash_id,
 * k, key_kind, m, seed, self_test, capacity, fpr, m_unfolded, provenance, tag, label. */
void image_describe(struct header *h);

/* Turns a record into the record of a sealed image with this body. n and flags stay. */
void image_record(struct record *record, uint32_t body_crc, const struct kernel_tally *tally);

/* Turns the pages' CRC-32 into the entries of the table. */
void image_bind_checksums(uint8_t *table, uint64_t pages, uint32_t body_crc);

/* Writes the page checksums after a complete body, and turns h->record into the record of a sealed
 * image. The caller has set h->record.n and .flags. */
void image_sum(struct header *h, uint8_t *body);

/* After image_sum(), if writers' counts are missing (RECORD_N_ESTIMATED): sets n to the estimate
 * from the number of set bits, which is closer. */
void image_estimate_keys(struct header *h);

/* The number of keys at which the rate of an image, whole or slice, is twice its target: fpr, or if
 * that is 0 the rate at its capacity. UINT64_MAX: never. A slice gets a margin, because its share
 * of the keys is chance. */
uint64_t image_most_keys(const struct header *h);

/* Encodes the header, and decodes it as a reader will. 0, or the error for which a reader would
 * refuse it. */
int image_encode(struct header *h, uint8_t *bytes);

#endif
