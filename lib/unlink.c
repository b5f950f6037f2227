/* SPDX-License-Identifier: MIT
 * Removing a filter, all files of a live series. */
#include <bloomfile_live.h>

#include "series/removal.h"

int bloomfile_unlink(const char *path)
{
    struct removal r;
    if (path == NULL)
        return BLOOMFILE_EPARAMS;
    int error = removal_find(&r, path);
    if (error == 0)
        error = removal_lock(&r);
    if (error == 0)
        error = removal_of_others(&r);
    if (error == 0)
        error = removal_of_first(&r);
    removal_end(&r);
    return error;
}
