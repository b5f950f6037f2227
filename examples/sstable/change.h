/* SPDX-License-Identifier: MIT
 *
 * The two changes of a tablet: new rows, and fewer tables.
 */
#ifndef CHANGE_H
#define CHANGE_H

#include "table.h"

/* Makes a table of these rows, whose keys ascend, the newest of the tablet; and the tablet, if
 * there is none. No rows: no table. */
int tablet_put(const char *directory, const struct row *rows, size_t count,
               const struct table_options *options, const struct reporter *reporter);

/* The same of deletions; but where there is no tablet, there is nothing to delete. */
int tablet_delete(const char *directory, const struct row *deletions, size_t count,
                  const struct table_options *options, const struct reporter *reporter);

struct compaction {
    size_t tables;      /* so many become one; 0, or more than there are: all */
    bool newest;        /* the newest tables, not the oldest */
    bool merge_filters; /* the filter is the union of theirs, if that serves */
};

/* Deletions are dropped if the oldest table takes part: else they still hide rows. */
int tablet_compact(const char *directory, const struct compaction *compaction,
                   const struct table_options *options, const struct reporter *reporter);

#endif
