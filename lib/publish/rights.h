/* SPDX-License-Identifier: MIT
 * The rights of a file that replaces another. */
#ifndef BLOOMFILE_PUBLISH_RIGHTS_H
#define BLOOMFILE_PUBLISH_RIGHTS_H

#include <sys/stat.h>

/* What stands at a path. */
struct rights_of {
    int directory;
    const char *name; /* in the directory */
    const char *path; /* of the file; NULL or stale if only the directory is known */
    struct stat status;
};

/* Makes a new file as private as the old one: same mode and access control list, and same owner and
 * group where allowed. Nobody gains a right: if the group or the list cannot be kept, those who had
 * rights through it lose them. 0 or an errno. */
int rights_keep(int fd, const struct rights_of *old);

#endif
