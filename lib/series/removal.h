/* SPDX-License-Identifier: MIT
 * Removal of the files of a filter; of a live series, all of them. */
#ifndef BLOOMFILE_REMOVAL_H
#define BLOOMFILE_REMOVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* Files in the order of their removal: the newest first, and that of the name itself last. So a
 * series of which some are gone is refused when it is opened. */
struct removal {
    struct removal_file {
        char *path;
        int fd;
        uint64_t layer, slot;
        struct stat status;
    } * files;
    size_t count;
};

/* Opens them, and changes nothing. BLOOMFILE_ESERIES if a file has a name of a layer and is not
 * one, or if `path` is not the name of the first; EMLINK if one is a mount point; what a header is
 * refused for; an errno. removal_end() is due after an error, too. */
int removal_find(struct removal *r, const char *path);

/* Whether it has several files, of which one is of that slot. */
bool removal_is_series(const struct removal *r);
bool removal_has(const struct removal *r, uint64_t slot);

/* EBUSY if another handle has one open for writing, in this process or another. */
int removal_lock(const struct removal *r);

/* Removes all but the last, or that. BLOOMFILE_EREPLACED if another file has the name by now; an
 * errno. */
int removal_of_others(const struct removal *r);
int removal_of_first(const struct removal *r);

void removal_end(struct removal *r);

#endif
