/* SPDX-License-Identifier: MIT
 * The filters that bfmerge reads: files, and consecutive images on standard input. */
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
    bool slices; /* the sources are slices of a single filter */
    bool stdin_taken;
    bool stdin_whole;       /* standard input was read from its first byte to its last */
    struct stat stdin_file; /* its status before it was read */
};

/* These functions end the program if something is wrong. */

/* Adds a file, or all images on standard input ("-"). */
void merge_sources_add(struct merge_sources *s, const char *path);

/* Checks that no file occurs twice and that all sources are compatible. Slices are
 * checked below. */
void merge_sources_check(const struct merge_sources *s);

/* Ends the program if a source turned out to be damaged. */
void merge_sources_check_damage(const struct merge_sources *s);

/* Returns the handles in order, in memory from malloc(). */
const bloomfile_filter **merge_sources_filters(const struct merge_sources *s);

void merge_sources_close(struct merge_sources *s);

/* ---- The slices of a filter. */

/* Ends the program, with the reason, unless the sources are all slices of a filter. Unless `as_is`,
 * also ends it if keys that a slice omits may be in no other slice. */
void merge_slices_check(const struct merge_sources *s, bool as_is);

/* Ends the program if the false-positive rate of the whole would be over twice the target. */
void merge_slices_check_capacity(const struct merge_sources *s, const char *whole);

/* ---- The check of DEST: a merge must not drop the keys of an existing filter. */

struct merge_dest {
    const char *path; /* "-": standard output */
    char *const *src; /* operands, for the command in the message */
    int src_count;
    bool is_union; /* a union: if DEST is a source, it keeps its keys */
    bool force;
    bool discard; /* with force: DEST need not be a source */
};

/* Ends the program if DEST cannot be created, or if replacing it would lose keys that no source
 * has. Call this before sources are read. */
void merge_dest_check_names(const struct merge_dest *d);

/* merge_dest_check_names() after the sources were opened: compares them with DEST by device and
 * inode. Call it again just before DEST is replaced, because another program may have put a new
 * filter there. */
void merge_dest_check(const struct merge_dest *d, const struct merge_sources *s);

#endif
