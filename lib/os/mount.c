/* SPDX-License-Identifier: MIT
 * statx() tells since Linux 5.8; before that, a mount point and its folder have different mounts.
 */
#include "os/mount.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/apart.h"

#ifndef STATX_ATTR_MOUNT_ROOT
#define STATX_ATTR_MOUNT_ROOT 0x2000
#endif

/* The number of the mount that a descriptor was opened through; -1: unknown. */
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
