/* SPDX-License-Identifier: MIT
 * Replacing a file: the lock that excludes other processes, and copying its owner, mode and ACL.
 * The lock is on the old file, and is held for microseconds. Waiting for it has a limit, because
 * the holder may be stopped, or may be a program that waits for this process (flock FILE
 * COMMAND). */
#include "publish/replace.h"

#include <bloomfile.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "format/decode.h"
#include "format/hash.h"
#include "os/file.h"
#include "os/host.h"

#define TRIES        1000 /* one per millisecond */
#define RECORDS_BYTE 1    /* of a live file: LOCK_RECORDS (live.md, section 4) */

static bool is_as_then(const struct stat *now, const struct stat *then)
{
    return now->st_dev == then->st_dev && now->st_ino == then->st_ino &&
           now->st_size == then->st_size && now->st_mtim.tv_sec == then->st_mtim.tv_sec &&
           now->st_mtim.tv_nsec == then->st_mtim.tv_nsec;
}

/* The hash of the header, which each writer of a live file changes. */
static int read_head(int fd, off_t size, uint64_t *head)
{
    uint8_t bytes[HEADER_MAX];
    const size_t most = size < (off_t)sizeof bytes ? (size_t)size : sizeof bytes;
    const int error = file_read(fd, 0, bytes, most);
    if (error == 0)
        *head = hash_key(0, bytes, most);
    return error;
}

int replace_open(const char *path, int *fd)
{
    struct stat status;
    *fd = -1;
    if (stat(path, &status) != 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : errno;
    errno = EACCES;
    if (S_ISREG(status.st_mode))
        errno = file_open(path, false, fd);
    if (*fd < 0 && errno == EACCES)
        *fd = open(path, O_PATH | O_CLOEXEC);
    return *fd >= 0 || errno == ENOENT || errno == ENOTDIR ? 0 : errno;
}

/* pread() fails on an O_PATH descriptor, and on an O_DIRECT descriptor if the buffer is unaligned.
 * Opening the file again requires /proc and read permission. */
static int note_head(struct replace_only *only, int fd)
{
    int own;
    if (!S_ISREG(only->file.st_mode))
        return 0;
    int error = read_head(fd, only->file.st_size, &only->head);
    only->head_known = error == 0;
    if (error == 0 || error == BLOOMFILE_ETRUNCATED)
        return 0;
    error = file_open_again(fd, false, &own);
    if (error != 0)
        return error == EACCES || error == ENOENT ? 0 : error;
    only->head_known = read_head(own, only->file.st_size, &only->head) == 0;
    close(own);
    return 0;
}

int replace_only_note(struct replace_only *only, int fd)
{
    *only = (struct replace_only){ .wanted = true, .exists = fd >= 0 };
    if (fd < 0)
        return 0;
    return fstat(fd, &only->file) != 0 ? errno : note_head(only, fd);
}

int replace_only_check(const struct replace_only *only, const struct stat *now, int fd)
{
    uint64_t head = only->head;
    if (!only->wanted)
        return 0;
    if (now == NULL || !only->exists)
        return now != NULL || only->exists ? BLOOMFILE_EREPLACED : 0;
    int error = is_as_then(now, &only->file) ? 0 : BLOOMFILE_EREPLACED;
    if (error == 0 && only->head_known && fd >= 0)
        error = read_head(fd, now->st_size, &head);
    return error == 0 && head != only->head ? BLOOMFILE_EREPLACED : error;
}

/* Opens only regular files: opening a device may have side effects. */
static int open_old(int directory, const char *name, int *fd)
{
    struct stat status;
    *fd = -1;
    if (fstatat(directory, name, &status, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? 0 : errno;
    if (!S_ISREG(status.st_mode))
        return 0;
    *fd = openat(directory, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
    return *fd >= 0 || errno == ENOENT || errno == EACCES ? 0 : errno;
}

/* Returns EWOULDBLOCK if the name belongs to another file by the time the lock is taken. */
static int check_locked_name(int fd, int directory, const char *name)
{
    struct stat own, named;
    if (fstat(fd, &own) != 0 || fstatat(directory, name, &named, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? EWOULDBLOCK : errno;
    return own.st_dev == named.st_dev && own.st_ino == named.st_ino ? 0 : EWOULDBLOCK;
}

/* Returns EWOULDBLOCK if another process holds the lock, or replaced the file just before. */
static int try(int directory, const char *name, int *claim)
{
    int error = open_old(directory, name, claim);
    if (error != 0 || *claim < 0)
        return error;
    const bool local = filesystem_is_local(*claim);
    const bool locked = local && flock(*claim, LOCK_EX | LOCK_NB) == 0;
    error = locked ? check_locked_name(*claim, directory, name) : local ? errno : 0;
    if (locked && error == 0)
        return 0;
    close(*claim);
    *claim = -1;
    return locked || error == EWOULDBLOCK ? error : 0;
}

static int lock_from_programs(int directory, const char *name, int *claim)
{
    int error = try(directory, name, claim);
    for (unsigned i = 0; i < TRIES && error == EWOULDBLOCK; i++) {
        poll(NULL, 0, 1);
        error = try(directory, name, claim);
    }
    return error == EWOULDBLOCK ? 0 : error;
}

/* A sealed file never becomes live. */
static bool is_not_sealed(int fd)
{
    uint8_t bytes[HEADER_MAX];
    const int error = file_read(fd, 0, bytes, sizeof bytes);
    return error != BLOOMFILE_ETRUNCATED &&
           (error != 0 || get32(header_state(bytes, 0)) != BLOOMFILE_STATE_SEALED ||
            get32(header_state(bytes, 1)) != BLOOMFILE_STATE_SEALED);
}

static bool lacks_locks(int error)
{
    return error == EINVAL || error == ENOSYS || error == EOPNOTSUPP;
}

/* Takes a shared lock, which a descriptor for reading can take. A file system without such locks,
 * or one that other hosts share, has no live files. */
static int stop_writers(int fd, bool *locked)
{
    bool layered;
    const int error = filesystem_check(fd, &layered);
    if (error != 0 || !is_not_sealed(fd))
        return error == BLOOMFILE_EFILESYSTEM ? 0 : error;
    struct flock lock = {
        .l_type = F_RDLCK, .l_whence = SEEK_SET, .l_start = RECORDS_BYTE, .l_len = 1
    };
    for (unsigned i = 0; i < TRIES; i++) {
        if (fcntl(fd, F_OFD_SETLK, &lock) == 0) {
            *locked = true;
            return 0;
        }
        if (lacks_locks(errno))
            return 0;
        if (errno != EAGAIN && errno != EACCES && errno != EINTR)
            return errno;
        poll(NULL, 0, 1);
    }
    return EBUSY;
}

void replace_unlock(int claim)
{
    struct flock lock = {
        .l_type = F_UNLCK, .l_whence = SEEK_SET, .l_start = RECORDS_BYTE, .l_len = 1
    };
    if (claim < 0)
        return;
    fcntl(claim, F_OFD_SETLK, &lock);
    flock(claim, LOCK_UN);
    close(claim);
}

static int check_now(const struct replace_only *only, int directory, const char *name, int fd)
{
    struct stat now;
    if (fstatat(directory, name, &now, AT_SYMLINK_NOFOLLOW) != 0)
        return errno == ENOENT ? replace_only_check(only, NULL, fd) : errno;
    if (!S_ISREG(now.st_mode))
        return S_ISDIR(now.st_mode) ? EISDIR : BLOOMFILE_ENOTREGULAR;
    return replace_only_check(only, &now, fd);
}

int replace_lock(int directory, const char *name, const struct replace_only *only, int *claim)
{
    int error = lock_from_programs(directory, name, claim);
    if (error != 0 || !only->wanted)
        return error;
    bool locked = *claim >= 0;
    if (!locked)
        error = open_old(directory, name, claim);
    if (error == 0 && *claim >= 0)
        error = stop_writers(*claim, &locked);
    if (error == 0)
        error = check_now(only, directory, name, *claim);
    if (!locked && *claim >= 0) {
        close(*claim);
        *claim = -1;
    }
    return error;
}

/* ---- Owner, mode and POSIX ACL. */

#define LIST "system.posix_acl_access"

/* A copy of an access control list. size 0: the file has no list, which is certain only if
 * `known`. */
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

/* Reads the list through /proc, so that the path cannot be swapped; without /proc, by path. */
static int read_list(struct list *list, const struct rights_of *old)
{
    char path[sizeof "/proc/self/fd//" + 3 * sizeof old->directory + NAME_MAX];
    snprintf(path, sizeof path, "/proc/self/fd/%d/%s", old->directory, old->name);
    int error = read_list_of(list, path);
    if (error == ENOENT)
        error = read_list_of(list, old->path);
    return error == ENOENT ? 0 : error;
}

/* Removes the list that the file inherited from its folder, because it would grant rights. */
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

/* The list may name users that this user namespace does not have. */
static bool is_refused(int error)
{
    return error == EINVAL || error == EPERM;
}

static bool keep_group(int fd, const struct stat *old)
{
    return fchown(fd, old->st_uid, old->st_gid) == 0 || fchown(fd, (uid_t)-1, old->st_gid) == 0;
}

/* The mode if the group cannot be kept: its members then get the rights of all users. */
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
    if (list.size > 0 && is_refused(error)) {
        all_kept = false;
        error = drop_list(fd);
    }
    free(list.bytes);
    if (error == 0 && fchmod(fd, all_kept ? mode : mode & S_IRWXU) != 0)
        error = errno;
    return error;
}

#ifdef REPLACE_RENAMEAT2
int renameat2(int from, const char *old_name, int to, const char *new_name, unsigned flags)
{
    return (int)syscall(SYS_renameat2, from, old_name, to, new_name, flags);
}
#endif
