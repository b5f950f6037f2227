/* SPDX-License-Identifier: MIT
 * Removing the file of a filter, or all files of a live series. */
#ifndef BLOOMFILE_REMOVAL_H
#define BLOOMFILE_REMOVAL_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>

/* Files in the order of their removal: the newest first, the file at the path itself last. So after
 * an interrupted removal, opening the remaining files fails. */
struct removal {
    struct removal_file {
        char *path;
        int fd;
        int lock_error; /* of a live file that may not be opened for writing; or 0 */
        uint64_t layer, slot;
        struct stat status;
    } * files;
    size_t count;
    bool series; /* a live series, perhaps of one layer */
};

/* Finds and opens the files, and locks those of a live series, so that no process makes another
 * layer. Changes nothing. Returns 0; BLOOMFILE_ESERIES if a file has the name of a layer but is not
 * that layer, or if `path` is not the first file; EMLINK if a file is a mount point; the error of
 * an invalid header; an error of removal_lock(); BLOOMFILE_EREPLACED if other processes keep
 * changing the files; or an errno. Even after an error, `series` is set if the first file belongs
 * to a live series, and removal_end() must be called. */
int removal_find(struct removal *r, const char *path);

/* Returns whether a file has this slot. */
bool removal_has(const struct removal *r, uint64_t slot);

/* Locks writers out of a single filter; removal_find() has locked a series. Returns EBUSY if
 * another handle, in any process, has a file open for writing; EACCES or EROFS if a live file may
 * not be opened for writing. */
int removal_lock(const struct removal *r);

/* removal_of_others() removes all files but the last of the list, removal_of_first() the last.
 * Return 0, BLOOMFILE_EREPLACED if the name belongs to another file now, or an errno. */
int removal_of_others(const struct removal *r);
int removal_of_first(const struct removal *r);

void removal_end(struct removal *r);

#endif
