/* SPDX-License-Identifier: MIT
 * Removing a filter, or all files of a live series. */
#include <bloomfile_live.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/invalid.h"
#include "series/removal.h"

/* Removes the path itself if it is a symbolic link to the first file. */
static int remove_link(const char *path)
{
    struct stat named;
    if (lstat(path, &named) != 0 || !S_ISLNK(named.st_mode))
        return 0;
    return unlink(path) == 0 ? 0 : errno;
}

int bloomfile_unlink(const char *path)
{
    struct removal r;
    if (path == NULL)
        return invalid(BLOOMFILE_EVALUE, "path");
    int error = removal_find(&r, path);
    if (error == 0 && !r.series)
        error = removal_lock(&r);
    if (error == 0)
        error = removal_of_others(&r);
    if (error == 0)
        error = removal_of_first(&r);
    if (error == 0)
        error = remove_link(path);
    removal_end(&r);
    return error;
}
