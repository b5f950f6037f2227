/* SPDX-License-Identifier: MIT
 * The check of DEST: a merge must not drop the keys of a filter there.
 */
#ifndef BLOOMFILE_TOOLS_MERGE_DEST_H
#define BLOOMFILE_TOOLS_MERGE_DEST_H

#include "bfmerge/sources.h"

struct merge_dest {
    const char *path; /* "-": standard output */
    char *const *src; /* operands, for the command in the message */
    int src_count;
    bool lists;    /* --files-from names more of them */
    bool is_union; /* DEST keeps the keys of a source */
    bool force;
    bool discard; /* with force: DEST need not be a source */
};

/* Ends the program unless DEST can be created, or replaced without losing keys that no source has.
 * Call it before sources are read: if `lists`, only merge_dest_check() can decide that. */
void merge_dest_check_names(const struct merge_dest *d);

/* The same with the sources opened, which are compared by device and inode. Call it again before
 * DEST is replaced, as another program may have put a new filter there. */
void merge_dest_check(const struct merge_dest *d, const struct merge_sources *s);

#endif
