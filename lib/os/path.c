/* SPDX-License-Identifier: MIT
 * Paths kept for later use: made absolute by getcwd(), whose result is verified because it may lead
 * elsewhere. Detecting mount points. */
#include "os/path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "os/file.h"

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
    close(*folder); /* /proc is not mounted */
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

/* ---- Linux reports mount points by statx() since 5.8. On older kernels, a mount point is on
 * another mount than its folder. */

#ifndef STATX_ATTR_MOUNT_ROOT
#define STATX_ATTR_MOUNT_ROOT 0x2000
#endif

/* Returns the id of the mount through which a descriptor was opened, or -1 if unknown. */
static long mount_of(int fd)
{
    char path[sizeof "/proc/self/fdinfo/" + 3 * sizeof fd], text[512];
    snprintf(path, sizeof path, "/proc/self/fdinfo/%d", fd);
    const int info = file_apart(open(path, O_RDONLY | O_CLOEXEC));
    if (info < 0)
        return -1;
    const ssize_t size = read(info, text, sizeof text - 1);
    close(info);
    text[size > 0 ? size : 0] = '\0';
    const char *found = strstr(text, "mnt_id:");
    return found != NULL ? strtol(found + strlen("mnt_id:"), NULL, 10) : -1;
}

static long mount_at(int directory, const char *name, int flags)
{
    const int fd = file_apart(openat(directory, name, O_PATH | O_CLOEXEC | flags));
    const long mount = fd >= 0 ? mount_of(fd) : -1;
    if (fd >= 0)
        close(fd);
    return mount;
}

static bool differs_from_folder(int directory, const char *name)
{
    char folder[PATH_MAX] = ".";
    const char *slash = strrchr(name, '/');
    const size_t size = slash != NULL ? (size_t)(slash - name) + 1 : 0;
    if (size >= sizeof folder)
        return false;
    if (size > 0)
        memcpy(folder, name, size);
    const long own = mount_at(directory, name, O_NOFOLLOW);
    const long other = mount_at(directory, folder, O_DIRECTORY);
    return own >= 0 && other >= 0 && own != other;
}

bool mount_is_point(int directory, const char *name)
{
    struct statx status;
    const int result = statx(directory, name, AT_SYMLINK_NOFOLLOW | AT_NO_AUTOMOUNT, 0, &status);
    if (result != 0 && (errno == ENOENT || errno == ENOTDIR))
        return false;
    if (result == 0 && (status.stx_attributes_mask & STATX_ATTR_MOUNT_ROOT) != 0)
        return (status.stx_attributes & STATX_ATTR_MOUNT_ROOT) != 0;
    return differs_from_folder(directory, name);
}
