/* SPDX-License-Identifier: MIT
 *
 * bench-live's tables, and the filter that they work on.
 */
#ifndef BLOOMFILE_BENCH_LIVE_H
#define BLOOMFILE_BENCH_LIVE_H

#include <bloomfile.h>

#define LIVE_BITS     (1ULL << 30)
#define LIVE_ROOM     (LIVE_BITS / 8 + (1 << 20))
#define LIVE_CAPACITY 100000000
#define LIVE_BATCH    1024
#define LIVE_TURNS    5

struct live_options {
    const char *memory; /* scratch folders: without a disk, and on one */
    const char *disk;
    bool quick;
};

/* Each prints a table, or several. */
void live_adds(const struct live_options *o);
void live_lookups(const struct live_options *o);
void live_disk(const struct live_options *o);

/* Makes a filter file of LIVE_BITS in a folder and opens it for writing. There is one at a time; it
 * goes away with live_close(). */
bloomfile *live_create(const char *folder, unsigned flags);

/* Its path. */
const char *live_path(void);

/* Closes it. Ends the program if one of the first `keys` keys of bench_digests() was lost, or if
 * the file does not have `new_keys` on record. */
void live_close(bloomfile *f, uint64_t keys, uint64_t new_keys);

/* A lookup in every page, after which the page tables of this process are filled. */
void live_touch(const bloomfile *f);

/* Adds in batches; returns how many were new. */
uint64_t live_add(bloomfile *f, const bloomfile_digest *digests, size_t count);

#endif
