/* SPDX-License-Identifier: MIT
 *
 * Many tables, newest first, read as one; and how they change. Trouble ends the program, but
 * trouble with a filter.
 */
#ifndef TABLET_H
#define TABLET_H

#include "table.h"

/* ---- the file MANIFEST: which tables there are. What is not named there does not exist, whatever
 * files there are; so replacing this one file changes the tablet, at once.
 *
 *     sstable 1
 *     next 8
 *     7
 *     4
 *     checksum 0123456789abcdef
 *
 * Tables are named by their numbers, newest first; no number is used twice. */

enum {
    MANIFEST_TABLES = 1000
}; /* at most */

struct manifest {
    uint64_t next; /* the number of the next table to be written */
    size_t count;
    uint64_t tables[MANIFEST_TABLES];
};

/* false: there is none. */
bool manifest_read(struct manifest *m, const char *directory);

/* Replaces it atomically. *in_doubt is set while it is not known which one is on disk. */
void manifest_write(const struct manifest *m, const char *directory, bool *in_doubt);

/* ---- looking up: a handle shows the tablet as it was when it was opened, and may be used by any
 * number of threads at once */

struct tablet {
    const char *directory;
    uint64_t seed;
    struct manifest manifest;
    struct table *tables; /* in the manifest's order; manifest.count of them */
};

/* Opens all tables with their filters. A filter that is refused is reported and not used; a table
 * that is missing or damaged is an error. The seed is that of the filters; flags: TABLE_*. */
void tablet_open(struct tablet *t, const char *directory, uint64_t seed, unsigned flags);
void tablet_close(struct tablet *t);

/* The answer about a key. To be zero before its first use; `data` is reused by the next, and the
 * caller's to free. */
struct answer {
    bool found;
    uint8_t *data; /* the value, if found */
    size_t size, room;
    unsigned searched; /* tables that were searched */
};

#define TABLET_BATCH 256

void tablet_get(const struct tablet *t, struct bloomfile_key key, struct answer *answer);

/* At most TABLET_BATCH keys. */
void tablet_get_many(const struct tablet *t, const struct bloomfile_key *keys, size_t count,
                     struct answer *answers);

/* Ends the program if a filter was overwritten since the tablet was opened: for when the answers of
 * a request are complete, and before they are used. */
void tablet_confirm(const struct tablet *t);

/* ---- changing: one process at a time. Killed at any moment, the tablet is as before the change or
 * as after it, and the next change removes what was left. */

/* Makes a table of these rows, whose keys ascend, the newest of the tablet; and the tablet, if
 * there is none. No rows: no table. */
void tablet_put(const char *directory, const struct rows *rows,
                const struct table_options *options);

/* The same of deletions; but where there is no tablet, there is nothing to delete. */
void tablet_delete(const char *directory, const struct rows *deletions,
                   const struct table_options *options);

struct compaction {
    uint64_t tables;    /* so many become one; 0, or more than there are: all */
    bool newest;        /* the newest tables, not the oldest */
    bool merge_filters; /* the filter is the union of theirs, if that serves */
};

/* Deletions are dropped if the oldest table takes part: else they still hide rows. */
void tablet_compact(const char *directory, const struct compaction *compaction,
                    const struct table_options *options);

#endif
