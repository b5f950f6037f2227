/* SPDX-License-Identifier: MIT
 *
 * The filters that bfmerge reads: files, and images that come one after the other on standard
 * input.
 */
#ifndef BLOOMFILE_TOOLS_MERGE_SOURCES_H
#define BLOOMFILE_TOOLS_MERGE_SOURCES_H

#include <bloomfile.h>
#include <bloomfile_inspect.h>

#include <sys/stat.h>

struct merge_source {
    char *name; /* for messages */
    bloomfile_filter *filter;
    struct bloomfile_info info;
    bool is_file;
    dev_t device; /* of a file */
    ino_t inode;
};

struct merge_sources {
    struct merge_source *list;
    size_t count, room;
    unsigned open_flags;
    bool slices; /* they are slices of one filter */
    bool stdin_taken;
};

/* All of these end the program if something is wrong. */

/* A file, or all images on standard input ("-"). */
void merge_sources_add(struct merge_sources *s, const char *path);

/* No file may be there twice, and all must fit one another; of slices, see below. */
void merge_sources_check(const struct merge_sources *s);

/* Names the source that turned out to be damaged, if there is one. */
void merge_sources_check_damage(const struct merge_sources *s);

/* The handles in order, from malloc(). */
const bloomfile_filter **merge_sources_filters(const struct merge_sources *s);

void merge_sources_close(struct merge_sources *s);

/* ---- The slices that a filter is made of. */

/* Ends the program unless the sources are all slices of one filter, and says what is wrong; unless
 * `as_is` also if keys that a slice left out may be in no other. */
void merge_slices_check(const struct merge_sources *s, bool as_is);

/* Ends the program if the whole would have more than twice the false-positive rate that was
 * promised. */
void merge_slices_check_capacity(const struct merge_sources *s, const char *whole);

/* ---- The check of DEST: a merge must not drop the keys of a filter there. */

struct merge_dest {
    const char *path; /* "-": standard output */
    char *const *src; /* operands, for the command in the message */
    int src_count;
    bool is_union; /* DEST keeps the keys of a source */
    bool force;
    bool discard; /* with force: DEST need not be a source */
};

/* Ends the program if DEST cannot be created, or if replacing it would lose keys that no source
 * has. Call it before sources are read. */
void merge_dest_check_names(const struct merge_dest *d);

/* The same with the sources opened, which are compared by device and inode. Call it again before
 * DEST is replaced, as another program may have put a new filter there. */
void merge_dest_check(const struct merge_dest *d, const struct merge_sources *s);

#endif
