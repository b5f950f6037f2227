/* SPDX-License-Identifier: MIT
 * One pass over a whole body: checksums and counts (format-spec.md, section 12.4). */
#ifndef BLOOMFILE_IMAGE_BODY_H
#define BLOOMFILE_IMAGE_BODY_H

#include <bloomfile_inspect.h>

#include "format/header.h"
#include "image/guard.h"
#include "kernel/kernel.h"

/* A pass that takes the pages of a body in order; each page may be anywhere in memory. *h must have
 * a valid layout, m and header_size. */
struct body_pass {
    struct geometry geometry;
    const struct kernel *kernel;
    struct checksum_sum sum; /* .crc: of the body so far */
    bool weighed;            /* also count tally.blocks */
    struct kernel_tally tally;
    uint64_t page; /* number of the next page */
};
void body_pass_start(struct body_pass *pass, const struct header *h);

/* Returns the CRC-32 of the page. next: the page read after it, which is only prefetched and need
 * not exist. */
uint32_t body_pass_page(struct body_pass *pass, const uint8_t *page, const uint8_t *next);

/* body_pass_skip(): skips to a later page; another pass must take the pages between.
 * body_pass_join(): joins two passes that are both at the end. */
void body_pass_skip(struct body_pass *pass, uint64_t page);
void body_pass_join(struct body_pass *pass, const struct body_pass *other);

/* Returns whether all bits beyond m are zero: in the last byte that m uses and in the bytes after
 * it. If not, *offset is the first byte with such a bit. */
bool body_padding_is_clean(const struct header *h, const uint8_t *body, uint64_t *offset);

/* Like body_padding_is_clean(), given only the last page, which has all of the padding. */
bool body_last_page_is_clean(const struct header *h, const uint8_t *page);

/* body_verify() in pieces: the state of a check after some pages of a sealed body. */
struct body_check {
    const struct header *h;
    const uint8_t *body;
    struct guard *guard;
    uint64_t renewals; /* of the guard, before any page was read */
    uint64_t good; /* of the current 64 pages: a bit for each good page that is not marked yet */
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

/* Skips to a later page. Another check must take exactly the skipped pages. */
void body_check_skip(struct body_check *check, uint64_t page);

/* Combines the results of two checks that are both at the end. */
void body_check_join(struct body_check *check, const struct body_check *other);
int body_check_end(struct body_check *check, struct bloomfile_fault *fault);

/* Checks a sealed body with `threads` threads. Marks every page in the guard as good or bad, and
 * distrusts the body if it contradicts the header. *fault (may be NULL) receives the first fault.
 * Returns 0, BLOOMFILE_EPAGE or BLOOMFILE_EBODY. */
int body_verify(const struct header *h, const uint8_t *body, struct guard *guard, unsigned threads,
                struct bloomfile_fault *fault);

/* ---- A sealed image in memory: header, body, page checksums. */

/* Computes the rest of *h from the fields that describe the filter: header_size, layout, hash_id,
 * k, key_kind, m, seed, self_test, capacity, fpr, m_unfolded, provenance, tag, label. */
void image_describe(struct header *h);

/* Turns a record into the record of a sealed image with this body. Does not change n and flags. */
void image_record(struct record *record, uint32_t body_crc, const struct kernel_tally *tally);

/* Turns the CRC-32 of each page into its table entry, by XOR with body_crc. */
void image_bind_checksums(uint8_t *table, uint64_t pages, uint32_t body_crc);

/* Writes the page checksums after a complete body, and turns h->record into the record of a sealed
 * image. The caller has set h->record.n and .flags. */
void image_sum(struct header *h, uint8_t *body);

/* After image_sum(), if writers' counts are missing (RECORD_N_ESTIMATED): sets n to the estimate
 * from the number of set bits, which is closer. */
void image_estimate_keys(struct header *h);

/* Returns the number of keys at which the rate of an image is twice its target, UINT64_MAX if no
 * number is. The target is fpr or, if that is 0, the rate at capacity. For a slice the number has a
 * margin, because its share of the keys is random. */
uint64_t image_most_keys(const struct header *h);

/* Encodes the header, then decodes it as a reader does. Returns 0, or the error with which a reader
 * would refuse it. */
int image_encode(struct header *h, uint8_t *bytes);

#endif
