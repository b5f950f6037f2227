/* SPDX-License-Identifier: MIT
 * The file that all ranks write together. */
#include "target.h"
#include "../shared.h"

#include <bloomfile_inspect.h>

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/xattr.h>
#include <unistd.h>

#define ACCESS_LIST "system.posix_acl_access"

enum {
    HEADER = 4096,
    LEAST = 16,   /* bytes of a file that can be told from others: magic, version, size */
    LAYERS = 1000 /* that a series has at most */
};

static int last_error(int result)
{
    return result == -1 ? errno : 0;
}

/* ---- what is there */

/* A damaged filter is one, and so is an empty file. */
static bool is_no_filter(const struct target *t, int fd)
{
    bloomfile *filter;
    const int error = bloomfile_open_fd(&filter, fd, 0, BLOOMFILE_TO_END, BLOOMFILE_APP_HASH);
    bloomfile_close(filter);
    return error == BLOOMFILE_EMAGIC || (error == BLOOMFILE_ETRUNCATED && t->old.st_size < LEAST);
}

/* Each holds a lock on the first byte (format-spec.md, section 13). */
static bool has_writers(int fd)
{
    struct flock lock = { .l_type = F_WRLCK, .l_whence = SEEK_SET, .l_len = 1 };
    return fcntl(fd, F_OFD_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

static bool has_more_layers(const struct target *t)
{
    bool has = false;
    for (unsigned layer = 1; layer < LAYERS && !has; layer++) {
        struct stat status;
        char number[8];
        snprintf(number, sizeof number, "%u", layer);
        char *path = join(t->path, ".", number);
        has = lstat(path, &status) == 0;
        free(path);
    }
    return has;
}

/* A record looks damaged while it is written. */
static bool is_of_series(const struct target *t, int fd)
{
    uint8_t header[HEADER];
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    const ssize_t got = pread(fd, header, sizeof header, 0);
    if (got == -1)
        return false;
    const off_t size = got < HEADER ? got : t->old.st_size;
    const int error = bloomfile_inspect(header, (uint64_t)size, &info, NULL, NULL);
    if ((error != 0 && error != BLOOMFILE_ERECORD) || info.series == 0)
        return false;
    const uint64_t place = info.generations > 0 ? info.layer % info.generations : info.layer;
    return place != 0 || has_more_layers(t);
}

static int look_into(struct target *t)
{
    const int fd = open(t->path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
    if (fd == -1)
        return errno;
    if (is_no_filter(t, fd))
        t->kept = "it is not a filter (write to another file)";
    else if (is_of_series(t, fd))
        t->kept = "it is a file of a series, whose keys would be lost (write to another file)";
    else if (has_writers(fd))
        t->kept =
            "other programs have it open for writing, and the keys they add would be lost (write "
            "to another file)";
    close(fd);
    return t->kept == NULL ? 0 : EPERM;
}

static int look(struct target *t)
{
    t->kept = NULL;
    t->exists = lstat(t->path, &t->old) == 0;
    if (!t->exists)
        return errno == ENOENT ? 0 : errno;
    if (S_ISDIR(t->old.st_mode))
        return EISDIR;
    if (!S_ISREG(t->old.st_mode))
        return BLOOMFILE_ENOTREGULAR;
    return t->replace ? look_into(t) : EEXIST;
}

int target_look(struct target *t, const char *path, bool replace)
{
    struct stat status;
    *t = (struct target){ .fd = -1, .replace = replace };
    if (strlen(path) >= sizeof t->path)
        return ENAMETOOLONG;
    strcpy(t->path, path);
    if (lstat(path, &status) == 0 && S_ISLNK(status.st_mode) && realpath(path, t->path) == NULL)
        return errno;
    return look(t);
}

static void folder_of(const struct target *t, char folder[PATH_MAX])
{
    char path[PATH_MAX];
    strcpy(path, t->path);
    strcpy(folder, dirname(path));
}

/* ---- the temporary */

/* A name that no other job has, or has had: so nobody's is taken for a leftover. */
static int choose_name(struct target *t)
{
    char folder[PATH_MAX];
    uint64_t number;
    folder_of(t, folder);
    if (getrandom(&number, sizeof number, 0) != (ssize_t)sizeof number)
        return errno;
    const int size = snprintf(t->temporary, sizeof t->temporary, "%s/.bfcreate_mpi.%012llx.tmp",
                              folder, (unsigned long long)number & 0xFFFFFFFFFFFF);
    return size < (int)sizeof t->temporary ? 0 : ENAMETOOLONG;
}

static int make_room(int fd, uint64_t size)
{
    if (fallocate(fd, 0, 0, (off_t)size) == 0)
        return 0;
    if (errno != EOPNOTSUPP && errno != ENOSYS)
        return errno;
    return last_error(ftruncate(fd, (off_t)size));
}

int target_start(struct target *t, uint64_t size)
{
    int error = choose_name(t);
    if (error == 0) {
        t->fd = open(t->temporary, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC, 0600);
        error = last_error(t->fd);
    }
    if (error != 0) {
        t->temporary[0] = '\0';
        return error;
    }
    target_guard(t);
    return make_room(t->fd, size);
}

/* ---- signals */

static char doomed[PATH_MAX];

static void remove_and_die(int number)
{
    unlink(doomed);
    raise(number);
}

void target_guard(const struct target *t)
{
    static const int numbers[] = { SIGINT, SIGTERM, SIGHUP };
    struct sigaction action = { .sa_handler = remove_and_die, .sa_flags = SA_RESETHAND };
    strcpy(doomed, t->temporary);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        sigaction(numbers[i], &action, NULL);
}

/* ---- the end */

/* Those of the file that is replaced, or of a new one. Nobody gains a right: where owner, group or
 * an access control list cannot be kept, the owner alone has any. */
static int keep_rights(const struct target *t)
{
    const mode_t mask = umask(0);
    umask(mask);
    mode_t mode = 0666 & ~mask;
    if (t->exists) {
        mode = t->old.st_mode & 0777;
        if (fchown(t->fd, t->old.st_uid, t->old.st_gid) != 0 ||
            getxattr(t->path, ACCESS_LIST, NULL, 0) > 0)
            mode &= S_IRWXU;
        fremovexattr(t->fd, ACCESS_LIST); /* inherited from the folder */
    }
    return last_error(fchmod(t->fd, mode));
}

static int write_header(const struct target *t, const void *header, size_t size)
{
    const int error = last_error((int)lseek(t->fd, 0, SEEK_SET));
    return error != 0 ? error : write_all(t->fd, header, size);
}

/* link() refuses to replace anything, on every file system that clusters share. */
static int give_name(struct target *t)
{
    if (t->replace)
        return last_error(rename(t->temporary, t->path));
    return last_error(link(t->temporary, t->path));
}

int target_publish(struct target *t, const void *header, size_t size)
{
    char folder[PATH_MAX];
    folder_of(t, folder);
    int error = look(t);
    if (error == 0)
        error = write_header(t, header, size);
    if (error == 0)
        error = keep_rights(t);
    if (error == 0)
        error = last_error(fsync(t->fd));
    if (error == 0)
        error = give_name(t);
    if (error != 0)
        return error;
    t->in_place = true;
    return sync_directory(folder);
}

void target_end(struct target *t)
{
    if (t->fd == -1)
        return;
    close(t->fd);
    unlink(t->temporary);
    t->fd = -1;
}
