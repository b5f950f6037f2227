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

/* The files named by the lines of a file ("-": standard input), or by strings that end with a zero
 * byte. */
void merge_sources_add_listed(struct merge_sources *s, const char *path, bool null);

/* No file may be there twice, and all must fit the first; of slices, see slices.h. */
void merge_sources_check(const struct merge_sources *s);

/* Warns if the keys of some were cut in another way than those of others. */
void merge_sources_compare_framing(const struct merge_sources *s);

/* Names the source that turned out to be damaged, if there is one. */
void merge_sources_check_damage(const struct merge_sources *s);

/* The handles in order, from malloc(). */
const bloomfile_filter **merge_sources_filters(const struct merge_sources *s);

void merge_sources_close(struct merge_sources *s);

#endif
