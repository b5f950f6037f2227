/* SPDX-License-Identifier: MIT
 * By getcwd(), whose answer may be a path that leads elsewhere. */
#include "os/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/apart.h"

#define LONGEST_ADDED (sizeof "/" + sizeof ".999") /* the number of a layer */

static bool leads_here(const char *folder)
{
    struct stat there, here;
    return stat(folder, &there) == 0 && stat(".", &here) == 0 && there.st_dev == here.st_dev &&
           there.st_ino == here.st_ino;
}

static char *joined(const char *folder, const char *path)
{
    char *all;
    if (asprintf(&all, "%s/%s", folder, path) >= 0)
        return all;
    errno = ENOMEM;
    return NULL;
}

static char *through_descriptor(const char *path, int *folder)
{
    char name[sizeof "/proc/self/fd/" + 3 * sizeof *folder];
    *folder = file_apart(open(".", O_PATH | O_DIRECTORY | O_CLOEXEC));
    if (*folder < 0)
        return NULL;
    snprintf(name, sizeof name, "/proc/self/fd/%d", *folder);
    if (leads_here(name))
        return joined(name, path);
    close(*folder); /* there is no /proc */
    *folder = -1;
    return strdup(path);
}

char *path_to_keep(const char *path, int *folder)
{
    *folder = -1;
    if (path[0] == '/')
        return strdup(path);
    char *here = getcwd(NULL, 0);
    if (here == NULL && errno == ENOMEM)
        return NULL;
    const bool fits = here != NULL && strlen(here) + strlen(path) + LONGEST_ADDED < PATH_MAX;
    char *kept = fits && leads_here(here) ? joined(here, path) : through_descriptor(path, folder);
    free(here);
    return kept;
}

char *path_without_links(const char *path)
{
    char *here = path[0] == '/' ? NULL : getcwd(NULL, 0);
    const bool reachable = path[0] == '/' || (here != NULL && leads_here(here));
    free(here);
    if (reachable)
        return realpath(path, NULL);
    errno = EACCES;
    return NULL;
}
