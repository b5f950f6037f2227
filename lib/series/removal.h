/* SPDX-License-Identifier: MIT
 * Removal of the files of a filter: of a live series, all files. */
#ifndef BLOOMFILE_REMOVAL_H
#define BLOOMFILE_REMOVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* Files in the order of their removal: the newest first, the file of the name itself last. So the
 * rest of a removal that was cut off is refused when it is opened. */
struct removal {
    struct removal_file {
        char *path;
        int fd;
        uint64_t layer, slot;
        struct stat status;
    } * files;
    size_t count;
};

/* Opens the files, and changes nothing. BLOOMFILE_ESERIES if a file has the name of a layer but is
 * not that layer, or if `path` is not the first file; EMLINK if a file is a mount point; the error
 * for which a header is refused; an errno. Call removal_end() even after an error. */
int removal_find(struct removal *r, const char *path);

/* Whether there are several files; whether a file has that slot. */
bool removal_is_series(const struct removal *r);
bool removal_has(const struct removal *r, uint64_t slot);

/* EBUSY if another handle, in any process, has a file open for writing. */
int removal_lock(const struct removal *r);

/* removal_of_others(): removes all files but the last in the list; removal_of_first(): removes
 * that. BLOOMFILE_EREPLACED if another file has the name now; an errno. */
int removal_of_others(const struct removal *r);
int removal_of_first(const struct removal *r);

void removal_end(struct removal *r);

#endif
