/* SPDX-License-Identifier: MIT
 *
 * A new file: sealed with counts and checksums, or a live copy. Its body is put in order, piece by
 * piece, or written to `fd` by others, who compute the rest. Only its page checksums are kept in
 * memory, a thousandth of it.
 */
#ifndef BLOOMFILE_RESULT_H
#define BLOOMFILE_RESULT_H

#include "body.h"
#include "publish.h"

struct result {
    struct publication *publication;
    int fd;
    const struct header *h;
    struct body_pass pass;
    uint8_t *checksums; /* CRC-32 of each page; NULL: live */
    uint64_t at;        /* so many bytes of the body were put */
};

/* Starts the file of *h, whose static part is complete, and the record's state. path and flags are
 * those of the public functions. result_abandon() is due in any case. */
int result_start(struct result *r, const struct header *h, const char *path, unsigned flags);

/* Writes the next whole pages of the body. */
int result_put(struct result *r, const uint8_t *pages, size_t size);

/* Once all of the body was put: the record of the sealed image, but for n and flags. */
void result_record(const struct result *r, struct record *record);

/* Writes the rest, with h->record and r->checksums, and publishes. */
int result_finish(struct result *r, struct header *h);

void result_abandon(struct result *r);

#endif
