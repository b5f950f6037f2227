/* SPDX-License-Identifier: MIT
 * Who may do what with a file that replaces another. */
#ifndef BLOOMFILE_RIGHTS_H
#define BLOOMFILE_RIGHTS_H

#include <sys/stat.h>

/* What stands at a path. */
struct rights_of {
    int directory;
    const char *name; /* in the directory */
    const char *path; /* of the file; NULL or wrong if there is nothing better than the directory */
    struct stat status;
};

/* Makes a new file as private as the old one: same mode and access control list, and same owner and
 * group where that is allowed. Nobody gets a right that he did not have: without the group or the
 * list, who had rights by these has none. 0 or an errno. */
int rights_keep(int fd, const struct rights_of *old);

#endif
