/* SPDX-License-Identifier: MIT
 *
 * A filter that a new file is made of: its body is read once, in order, and checked as it is read.
 */
#ifndef BLOOMFILE_SOURCE_H
#define BLOOMFILE_SOURCE_H

#include "handle/handle.h"
#include "image/body.h"

#define SOURCE_STRETCH ((size_t)256 << 10) /* bytes read at once: whole pages, in cache */

struct source {
    const bloomfile *f;
    struct body_check check; /* of a sealed one */
    uint64_t at;             /* bytes read */
    uint8_t *copy;           /* of a stretch of a live body, which others may be changing */
};

/* The header of a file with the same keys and size: static part, and the record's state, n and
 * flags. If the source's record cannot be read that is an error, and they are as when it was
 * opened. */
int source_describe(const bloomfile *f, struct header *h);

/* Starts reading. 0, ENOMEM, or in a child of fork an error of opening the file anew;
 * source_release() is due in any case. */
int source_start(struct source *s, const bloomfile *f);

/* The next `size` bytes of the body, at most SOURCE_STRETCH; all but the last are whole pages.
 * Valid until the next call. */
const uint8_t *source_take(struct source *s, size_t size);

/* Whether it is known already that it cannot be relied on: its sticky error, or 0. */
int source_status(const struct source *s);

/* Once all bytes that m uses were taken: whether they were good, all the time. BLOOMFILE_EPAGE,
 * _EBODY, _ECHANGED, _EPOISONED, or an error of msync. */
int source_verdict(struct source *s);

void source_release(struct source *s);

#endif
