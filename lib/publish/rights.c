/* SPDX-License-Identifier: MIT
 * The rights of a file that replaces another: owner, mode and POSIX ACL. */
#include "publish/rights.h"

#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/xattr.h>
#include <unistd.h>

#define LIST "system.posix_acl_access"

/* A copy of the list. None: *size is 0, and *known tells whether that is certain. */
struct list {
    void *bytes;
    size_t size;
    bool known;
};

static bool there_is_none(int error)
{
    return error == ENODATA || error == EOPNOTSUPP;
}

static int read_list_of(struct list *list, const char *path)
{
    ssize_t size = lgetxattr(path, LIST, NULL, 0);
    if (size > 0 && (list->bytes = malloc((size_t)size)) == NULL)
        return ENOMEM;
    if (size > 0)
        size = lgetxattr(path, LIST, list->bytes, (size_t)size);
    if (size < 0 && !there_is_none(errno))
        return errno;
    list->size = size > 0 ? (size_t)size : 0;
    list->known = true;
    return 0;
}

/* Through /proc, where the path cannot be swapped; without /proc, as given. */
static int read_list(struct list *list, const struct rights_of *old)
{
    char path[sizeof "/proc/self/fd//" + 3 * sizeof old->directory + NAME_MAX];
    snprintf(path, sizeof path, "/proc/self/fd/%d/%s", old->directory, old->name);
    int error = read_list_of(list, path);
    if (error == ENOENT)
        error = read_list_of(list, old->path);
    return error == ENOENT ? 0 : error;
}

/* A list inherited from the folder would grant rights. */
static int drop_list(int fd)
{
    return fremovexattr(fd, LIST) == 0 || there_is_none(errno) ? 0 : errno;
}

static int write_list(int fd, const struct list *list)
{
    if (list->size == 0)
        return drop_list(fd);
    return fsetxattr(fd, LIST, list->bytes, list->size, 0) == 0 ? 0 : errno;
}

static bool keep_group(int fd, const struct stat *old)
{
    return fchown(fd, old->st_uid, old->st_gid) == 0 || fchown(fd, (uid_t)-1, old->st_gid) == 0;
}

/* Without the group, its members count as others. */
static mode_t without_group(mode_t mode)
{
    return mode & (S_IRWXU | (mode >> 3 & S_IRWXO));
}

int rights_keep(int fd, const struct rights_of *old)
{
    struct list list = { 0 };
    mode_t mode = old->status.st_mode & 0777;
    int error = read_list(&list, old);
    bool all_kept = list.known;
    if (error == 0 && !keep_group(fd, &old->status)) {
        all_kept = all_kept && list.size == 0;
        list.size = 0;
        mode = without_group(mode);
    }
    if (error == 0)
        error = write_list(fd, &list);
    free(list.bytes);
    if (error == 0 && fchmod(fd, all_kept ? mode : mode & S_IRWXU) != 0)
        error = errno;
    return error;
}
