/* SPDX-License-Identifier: MIT
 *
 * Many tables, newest first, read as one. A handle shows the tablet as it was when it was opened,
 * and may be used by any number of threads at once.
 */
#ifndef TABLET_H
#define TABLET_H

#include "manifest.h"
#include "table.h"

struct tablet {
    const char *directory;
    uint64_t seed;
    const struct reporter *reporter;
    struct manifest manifest;
    struct table *tables; /* in the manifest's order; manifest.count of them */
};

/* Opens all tables with their filters. A filter that is refused is reported and not used; a table
 * that is missing or damaged is an error. The seed is that of the filters; flags: TABLE_*. */
int tablet_open(struct tablet *t, const char *directory, uint64_t seed, unsigned flags,
                const struct reporter *reporter);
void tablet_close(struct tablet *t);

/* The answer about a key. To be zero before its first use; `data` is reused by the next, and the
 * caller's to free. */
struct answer {
    bool found;
    uint8_t *data; /* the value, if found */
    size_t size, room;
    unsigned searched; /* tables that were searched */
};

/* An answer to every key, or an error, which has been reported. */
int tablet_get(const struct tablet *t, struct bytes key, struct answer *answer);
int tablet_get_many(const struct tablet *t, const struct bytes *keys, size_t count,
                    struct answer *answers);

#endif
