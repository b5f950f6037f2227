/* SPDX-License-Identifier: MIT
 * Publishing files atomically: by O_TMPFILE and linkat(), or by a temporary name and
 * renameat2(). */
#include "publish/publish.h"

#include <bloomfile.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include "os/file.h"
#include "os/host.h"
#include "os/path.h"
#include "os/thread.h"
#include "publish/replace.h"
#include "publish/temporary.h"

/* A new file that is being written, and the path that it will have. */
struct publication {
    char *path; /* links resolved; owns `name` */
    const char *name;
    int directory; /* -1: not open */
    int fd;        /* -1: not open */
    bool copied;   /* the file gets no name; its bytes are copied to `to` */
    struct destination to;
    char temporary[TEMPORARY_NAME_SIZE]; /* its temporary name; "": it has no name */
    bool local; /* its temporary name may be fixed, where temporary_clean() finds it */
    bool replace;
    bool target_exists; /* `target` is the file at the path */
    struct stat target;
    struct replace_only only;
    const char *like; /* absolute path of a file in the folder, whose rights it gets; or NULL */
    int (*before)(const void *context); /* or NULL */
    const void *context;
};

/* Sets path, name and directory. */
static int locate(struct publication *p, const char *path)
{
    struct stat status;
    if (*path == '\0')
        return ENOENT;
    bool is_link = lstat(path, &status) == 0 && S_ISLNK(status.st_mode);
    p->path = is_link ? path_without_links(path) : strdup(path);
    if (p->path == NULL)
        return errno;
    char *slash = strrchr(p->path, '/');
    p->name = slash == NULL ? p->path : slash + 1;
    if (*p->name == '\0')
        return EISDIR;
    const char *directory = slash == NULL ? "." : slash == p->path ? "/" : p->path;
    if (slash != NULL && slash != p->path)
        *slash = '\0';
    p->directory = open(directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    const int error = p->directory < 0 ? errno : 0;
    if (slash != NULL)
        *slash = '/';
    return error;
}

/* Checks that a file at the path may be replaced. Returns 0 or an error. */
static int check_target(struct publication *p)
{
    p->target_exists = fstatat(p->directory, p->name, &p->target, AT_SYMLINK_NOFOLLOW) == 0;
    if (!p->target_exists)
        return errno == ENOENT ? 0 : errno;
    if (S_ISDIR(p->target.st_mode))
        return EISDIR;
    if (!S_ISREG(p->target.st_mode))
        return BLOOMFILE_ENOTREGULAR;
    if (!p->replace)
        return EEXIST;
    return mount_is_point(p->directory, p->name) ? EBUSY : 0; /* as rename() */
}

static _Thread_local struct replace_only thread_only;

/* Checks that the target is the only file that may be replaced, without its header. */
static int check_only(const struct publication *p)
{
    return replace_only_check(&p->only, p->target_exists ? &p->target : NULL, -1);
}

int publish_replace_only(struct publication *p, const struct replace_only *only)
{
    if (only->wanted)
        p->only = *only;
    return check_only(p);
}

void publish_call_before(struct publication *p, int (*before)(const void *), const void *context)
{
    p->before = before;
    p->context = context;
}

void publish_thread_replaces_only(const struct replace_only *only)
{
    thread_only = *only;
}

const struct replace_only *publish_thread_only(void)
{
    return &thread_only;
}

/* Makes a named temporary file: a new file, or a name for the unnamed file. If a signal kills the
 * process from here on, the file is left behind. */
static int make_named(struct publication *p, int (*make)(struct publication *p, unsigned attempt))
{
    unsigned attempt = p->local ? 0 : TEMPORARY_FIXED;
    int error = EEXIST;
    for (; attempt < TEMPORARY_TRIES && error == EEXIST; attempt++) {
        error = temporary_name(attempt, p->temporary);
        if (error == 0)
            error = make(p, attempt);
    }
    if (error != 0)
        p->temporary[0] = '\0';
    return error;
}

/* Locks a file just created. Returns EEXIST if another process has mistaken it for a leftover and
 * removes it, or if the file system has no locks. */
static int hold_created(const struct publication *p, unsigned attempt)
{
    struct stat status;
    if (!temporary_hold(attempt, p->fd)) {
        if (errno != EWOULDBLOCK)
            unlinkat(p->directory, p->temporary, 0);
        return EEXIST;
    }
    if (fstat(p->fd, &status) == 0)
        return status.st_nlink == 0 ? EEXIST : 0;
    int error = errno;
    unlinkat(p->directory, p->temporary, 0);
    return error;
}

/* Returns whether the file must be private until it gets the rights of another file. */
static bool is_private(const struct publication *p)
{
    return p->target_exists || p->like != NULL;
}

static int create_named(struct publication *p, unsigned attempt)
{
    p->fd = openat(p->directory, p->temporary, O_CREAT | O_EXCL | O_RDWR | O_CLOEXEC,
                   is_private(p) ? 0600 : 0666);
    if (p->fd < 0)
        return errno;
    p->fd = file_apart(p->fd);
    if (p->fd < 0) {
        const int error = errno;
        unlinkat(p->directory, p->temporary, 0);
        return error;
    }
    int error = hold_created(p, attempt);
    if (error != 0) {
        close(p->fd);
        p->fd = -1;
    }
    return error;
}

static int link_unnamed(const struct publication *p, const char *name)
{
    char source[sizeof "/proc/self/fd/" + 3 * sizeof p->fd];
    snprintf(source, sizeof source, "/proc/self/fd/%d", p->fd);
    return linkat(AT_FDCWD, source, p->directory, name, AT_SYMLINK_FOLLOW) == 0 ? 0 : errno;
}

static int link_temporary(struct publication *p, unsigned attempt)
{
    return temporary_hold(attempt, p->fd) ? link_unnamed(p, p->temporary) : EEXIST;
}

static int open_temporary(struct publication *p)
{
    if (access("/proc/self/fd", X_OK) == 0) {
        p->fd = file_apart(openat(p->directory, ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666));
        if (p->fd >= 0)
            return 0;
        if (errno != EOPNOTSUPP && errno != EISDIR && errno != ENOENT && errno != EINVAL)
            return errno;
    }
    return make_named(p, create_named);
}

static int take_rights(const struct publication *p)
{
    struct rights_of like = { p->directory, strrchr(p->like, '/') + 1, p->like, p->target };
    return stat(p->like, &like.status) != 0 ? errno : rights_keep(p->fd, &like);
}

static int keep_rights(const struct publication *p)
{
    if (!p->target_exists && p->like != NULL)
        return take_rights(p);
    const struct rights_of old = { p->directory, p->name, p->path, p->target };
    return p->target_exists ? rights_keep(p->fd, &old) : 0;
}

static void remove_temporary(struct publication *p)
{
    if (p->temporary[0] != '\0' && temporary_check(p->directory, p->temporary, p->fd) != EBUSY)
        unlinkat(p->directory, p->temporary, 0);
    p->temporary[0] = '\0';
}

/* Gives the file its name without replacing a file: by RENAME_NOREPLACE or, where that is not
 * supported (NFS), by link(). */
static int move_to_free_name(struct publication *p)
{
    if (renameat2(p->directory, p->temporary, p->directory, p->name, RENAME_NOREPLACE) == 0) {
        p->temporary[0] = '\0';
        return 0;
    }
    if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
        return errno;
    if (linkat(p->directory, p->temporary, p->directory, p->name, 0) != 0)
        return errno;
    unlinkat(p->directory, p->temporary, 0);
    p->temporary[0] = '\0';
    return 0;
}

/* Signals are blocked, so that none can kill the process while an unnamed file has its temporary
 * name. */
static int rename_over(struct publication *p, bool unnamed)
{
    sigset_t before;
    signals_hold(&before);
    int error = unnamed ? make_named(p, link_temporary) : 0;
    if (error == 0 && renameat(p->directory, p->temporary, p->directory, p->name) != 0)
        error = errno;
    else if (error == 0)
        p->temporary[0] = '\0';
    if (error != 0 && unnamed)
        remove_temporary(p);
    signals_let_go(&before);
    return error;
}

static int give_name(struct publication *p)
{
    bool unnamed = p->temporary[0] == '\0';
    int checked = unnamed ? 0 : temporary_check(p->directory, p->temporary, p->fd);
    if (checked != 0)
        return checked;
    const bool must_be_free = p->only.wanted && !p->only.exists;
    int error = 0;
    if (!p->replace || must_be_free) {
        error = unnamed ? link_unnamed(p, p->name) : move_to_free_name(p);
        if (!p->replace || error == 0)
            return error;
        const bool no_links =
            error == EPERM || error == EOPNOTSUPP || error == ENOSYS || error == EMLINK;
        if (unnamed || !no_links)
            return error == EEXIST ? BLOOMFILE_EREPLACED : error;
    } /* the file system supports neither RENAME_NOREPLACE nor links */
    return rename_over(p, unnamed);
}

void publish_abandon(struct publication *p)
{
    if (p == NULL)
        return;
    remove_temporary(p);
    if (p->local)
        temporary_let_go(p->fd);
    if (p->fd >= 0)
        close(p->fd);
    if (p->directory >= 0)
        close(p->directory);
    free(p->path);
    free(p);
}

static struct publication *new_publication(void)
{
    struct publication *p = calloc(1, sizeof *p);
    if (p != NULL)
        p->directory = p->fd = -1;
    return p;
}

static int started(struct publication **out, struct publication *p, int error, int *fd)
{
    if (error != 0) {
        publish_abandon(p);
        return error;
    }
    *out = p;
    *fd = p->fd;
    return 0;
}

int publish_start(struct publication **out, const char *path, bool replace, int *fd)
{
    return publish_start_like(out, path, replace, NULL, fd);
}

int publish_start_like(struct publication **out, const char *path, bool replace, const char *like,
                       int *fd)
{
    *out = NULL;
    struct publication *p = new_publication();
    if (p == NULL)
        return ENOMEM;
    p->replace = replace;
    p->like = like;
    if (like == NULL && replace)
        p->only = thread_only;
    int error = locate(p, path);
    if (error == 0)
        error = check_target(p);
    if (error == 0)
        error = check_only(p);
    if (error == 0)
        p->local = filesystem_is_local(p->directory);
    if (error == 0 && p->local)
        temporary_clean(p->directory);
    if (error == 0)
        error = open_temporary(p);
    if (error == 0)
        error = keep_rights(p);
    return started(out, p, error, fd);
}

static int open_spool(struct publication *p)
{
    if (!destination_is_memory(&p->to))
        return spool_file(spool_folder(p->to.to.spool), &p->fd);
    p->fd = file_apart(memfd_create("bloomfile", MFD_CLOEXEC));
    return p->fd < 0 ? errno : 0;
}

int publish_copy(struct publication **out, const struct destination *to, int *fd)
{
    *out = NULL;
    if (to->to.kind == BLOOMFILE_TO_FD && fcntl(to->to.fd, F_GETFD) < 0)
        return errno;
    struct publication *p = new_publication();
    if (p == NULL)
        return ENOMEM;
    p->copied = true;
    p->to = *to;
    return started(out, p, open_spool(p), fd);
}

static int write_all(int fd, const uint8_t *bytes, size_t size)
{
    while (size > 0) {
        ssize_t wrote = write(fd, bytes, size);
        if (wrote < 0 && errno == EAGAIN)
            poll(&(struct pollfd){ .fd = fd, .events = POLLOUT }, 1, -1);
        else if (wrote < 0 && errno != EINTR)
            return errno;
        if (wrote > 0) {
            bytes += wrote;
            size -= (size_t)wrote;
        }
    }
    return 0;
}

static int copy_in_pieces(const struct publication *p, uint64_t all)
{
    const struct bloomfile_destination *to = &p->to.to;
    const size_t room = (size_t)1 << 20;
    uint8_t *buffer = malloc(room);
    int error = buffer == NULL ? ENOMEM : 0;
    for (uint64_t at = 0; error == 0 && at < all;) {
        const size_t size = all - at < room ? (size_t)(all - at) : room;
        error = file_read(p->fd, at, buffer, size);
        if (error == 0)
            error = to->kind == BLOOMFILE_TO_FD ? write_all(to->fd, buffer, size)
                                                : to->write(to->context, buffer, size);
        at += size;
    }
    free(buffer);
    return error;
}

static int copy_to_memory(const struct publication *p, uint64_t all)
{
    int error = destination_fits(&p->to, all);
    if (error != 0)
        return error;
    void *bytes = destination_bytes(&p->to, (size_t)all);
    error = bytes == NULL ? ENOMEM : file_read(p->fd, 0, bytes, (size_t)all);
    if (error == 0)
        destination_give(&p->to, bytes, (size_t)all);
    else
        destination_drop(&p->to, bytes);
    return error;
}

static int copy_to_folder(const struct publication *p)
{
    struct stat status;
    const int error = file_stat(p->fd, &status);
    if (error != 0)
        return error;
    const uint64_t all = (uint64_t)status.st_size;
    return destination_is_memory(&p->to) ? copy_to_memory(p, all) : copy_in_pieces(p, all);
}

/* Gives the file its name under a lock: another process of this library that publishes to the path
 * waits. If only one file may be replaced, its writers wait too: a writer that leaves later finds
 * that the file was replaced. The checks of publish_start_like() are repeated under the lock,
 * because the path may name another file now. */
static int take_place(struct publication *p)
{
    int claim = -1;
    int error = 0;
    if (p->replace)
        error = replace_lock(p->directory, p->name, &p->only, &claim);
    if (error == 0)
        error = check_target(p);
    if (error == 0)
        error = keep_rights(p); /* the rights of the file that is at the path now */
    if (error == 0 && p->before != NULL)
        error = p->before(p->context);
    if (error == 0)
        error = give_name(p);
    replace_unlock(claim);
    return error;
}

static int publish_at_path(struct publication *p)
{
    int error = fsync(p->fd) == 0 ? 0 : errno;
    if (error == 0)
        error = take_place(p);
    return error != 0 ? error : file_flush_names(p->directory);
}

int publish_finish(struct publication *p)
{
    int error = p->copied ? copy_to_folder(p) : publish_at_path(p);
    publish_abandon(p);
    return error;
}
