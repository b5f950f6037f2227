/* SPDX-License-Identifier: MIT
 * Calls that fail on demand. */
#include "faults.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

static struct faults now;
static atomic_bool active;
static atomic_uint calls[FAULT_CALL_COUNT];
static atomic_size_t flushed;

void faults_begin(const struct faults *faults)
{
    now = *faults;
    for (unsigned i = 0; i < FAULT_CALL_COUNT; i++)
        calls[i] = 0;
    flushed = 0;
    active = true;
}

void faults_end(void)
{
    active = false;
}

unsigned fault_calls(enum fault_call call)
{
    return calls[call];
}

size_t fault_flushed(void)
{
    return flushed;
}

const char *fault_name(enum fault_call call)
{
#define X(name) #name,
    static const char *const names[] = {
#include "fault_calls.def"
        "unlock"
    };
#undef X
    return names[call];
}

static bool strikes(const struct faults *faults, enum fault_call call, unsigned nth)
{
    if (call != faults->call || faults->nth == 0)
        return false;
    if (nth != faults->nth && !(faults->for_ever && nth > faults->nth))
        return false;
    errno = faults->error;
    return true;
}

/* Counts a call; returns whether it fails. */
static bool fails(enum fault_call call)
{
    if (!active)
        return false;
    if (now.at_each_call != NULL) {
        active = false;
        now.at_each_call(call);
        active = true;
    }
    const unsigned nth = ++calls[call];
    return strikes(&now, call, nth) || (now.besides != NULL && strikes(now.besides, call, nth));
}

static bool lacks(bool what, int error)
{
    if (active && what)
        errno = error;
    return active && what;
}

#define WRAP(type, name, parameters)                                                               \
    type __real_##name parameters;                                                                 \
    type __wrap_##name parameters;                                                                 \
    type __wrap_##name parameters

/* glibc has a second name for the function with 64-bit file offsets; in musl they always have 64
 * bits. */
#ifdef __GLIBC__
#define LARGE "64"
#else
#define LARGE
#endif
#define WRAP_LARGE(type, name, parameters)                                                         \
    type __real_##name parameters __asm__("__real_" #name LARGE);                                  \
    type __wrap_##name parameters __asm__("__wrap_" #name LARGE);                                  \
    type __wrap_##name parameters

/* A call that only fails or does its work. */
#define WRAP_PLAIN(type, failure, name, parameters, arguments)                                     \
    WRAP(type, name, parameters)                                                                   \
    {                                                                                              \
        return fails(ON_##name) ? (failure) : __real_##name arguments;                             \
    }
#define WRAP_LARGE_PLAIN(type, failure, name, parameters, arguments)                               \
    WRAP_LARGE(type, name, parameters)                                                             \
    {                                                                                              \
        return fails(ON_##name##64) ? (failure) : __real_##name arguments;                         \
    }

WRAP_PLAIN(void *, NULL, malloc, (size_t size), (size))
WRAP_PLAIN(void *, NULL, calloc, (size_t n, size_t size), (n, size))
WRAP_PLAIN(void *, NULL, aligned_alloc, (size_t alignment, size_t size), (alignment, size))
WRAP_PLAIN(void *, NULL, realloc, (void *p, size_t size), (p, size))
WRAP_PLAIN(char *, NULL, strdup, (const char *s), (s))
WRAP_PLAIN(char *, NULL, getcwd, (char *room, size_t size), (room, size))
WRAP_PLAIN(char *, NULL, realpath, (const char *path, char *room), (path, room))
WRAP_PLAIN(int, -1, dup3, (int from, int to, int flags), (from, to, flags))
WRAP_PLAIN(int, -1, madvise, (void *at, size_t size, int advice), (at, size, advice))
WRAP_PLAIN(int, -1, mlock2, (const void *at, size_t size, unsigned flags), (at, size, flags))
WRAP_PLAIN(int, -1, memfd_create, (const char *name, unsigned flags), (name, flags))
WRAP_LARGE_PLAIN(int, -1, lstat, (const char *path, struct stat *status), (path, status))
WRAP_LARGE_PLAIN(int, -1, stat, (const char *path, struct stat *status), (path, status))
WRAP_LARGE(int, fstat, (int fd, struct stat *status))
{
    const int result = fails(ON_fstat64) ? -1 : __real_fstat(fd, status);
    if (result == 0 && active && now.other_device)
        status->st_dev++;
    return result;
}
WRAP_LARGE_PLAIN(int, -1, fstatat, (int dir, const char *path, struct stat *status, int flags),
                 (dir, path, status, flags))
WRAP_LARGE_PLAIN(int, -1, fallocate, (int fd, int mode, off_t offset, off_t size),
                 (fd, mode, offset, size))
WRAP_LARGE_PLAIN(int, -1, ftruncate, (int fd, off_t size), (fd, size))
WRAP_PLAIN(int, -1, fchmod, (int fd, mode_t mode), (fd, mode))
WRAP_PLAIN(int, -1, fchown, (int fd, uid_t user, gid_t group), (fd, user, group))
WRAP_PLAIN(ssize_t, -1, lgetxattr, (const char *path, const char *name, void *room, size_t size),
           (path, name, room, size))
WRAP_PLAIN(int, -1, fsetxattr,
           (int fd, const char *name, const void *value, size_t size, int flags),
           (fd, name, value, size, flags))
WRAP_PLAIN(int, -1, flock, (int fd, int operation), (fd, operation))
WRAP_PLAIN(int, -1, fremovexattr, (int fd, const char *name), (fd, name))
WRAP_PLAIN(int, -1, renameat, (int from, const char *old, int to, const char *new),
           (from, old, to, new))
WRAP_PLAIN(int, -1, unlink, (const char *path), (path))
WRAP_PLAIN(int, -1, unlinkat, (int dir, const char *path, int flags), (dir, path, flags))
WRAP_PLAIN(ssize_t, -1, getrandom, (void *room, size_t size, unsigned flags), (room, size, flags))
WRAP_LARGE_PLAIN(void *, MAP_FAILED, mmap,
                 (void *at, size_t size, int protection, int flags, int fd, off_t offset),
                 (at, size, protection, flags, fd, offset))

/* With MREMAP_FIXED. */
WRAP(void *, mremap, (void *old, size_t old_size, size_t size, int flags, ...))
{
    va_list more;
    va_start(more, flags);
    void *at = va_arg(more, void *);
    va_end(more);
    return fails(ON_mremap) ? MAP_FAILED : __real_mremap(old, old_size, size, flags, at);
}

/* Returns the error instead of setting errno. */
WRAP(int, pthread_create,
     (pthread_t * id, const pthread_attr_t *attributes, void *(*start)(void *), void *argument))
{
    return fails(ON_pthread_create) ? errno
                                    : __real_pthread_create(id, attributes, start, argument);
}

WRAP(int, pthread_atfork, (void (*before)(void), void (*after)(void), void (*in_child)(void)))
{
    return fails(ON_pthread_atfork) ? errno : __real_pthread_atfork(before, after, in_child);
}

WRAP(int, access, (const char *path, int mode))
{
    return fails(ON_access) || lacks(now.no_proc, ENOENT) ? -1 : __real_access(path, mode);
}

static int copy_at(int from, const char *old, int to, const char *new)
{
    char bytes[4096];
    ssize_t size = 0;
    active = false;
    int in = openat(from, old, O_RDONLY), out = openat(to, new, O_WRONLY | O_CREAT | O_EXCL, 0666);
    while (in >= 0 && out >= 0 && (size = read(in, bytes, sizeof bytes)) > 0)
        if (write(out, bytes, (size_t)size) != size)
            break;
    active = true;
    close(in);
    return close(out) != 0 || size != 0 ? -1 : 0;
}

WRAP(int, linkat, (int from, const char *old, int to, const char *new, int flags))
{
    if (fails(ON_linkat) || lacks(now.no_proc && strncmp(old, "/proc/", 6) == 0, ENOENT))
        return -1;
    return active && now.links_are_copies ? copy_at(from, old, to, new)
                                          : __real_linkat(from, old, to, new, flags);
}

WRAP(int, renameat2, (int from, const char *old, int to, const char *new, unsigned flags))
{
    if (fails(ON_renameat2) || lacks(now.no_renameat2, EINVAL))
        return -1;
    return __real_renameat2(from, old, to, new, flags);
}

WRAP_LARGE(int, fcntl, (int fd, int command, ...))
{
    va_list rest;
    va_start(rest, command);
    void *argument = va_arg(rest, void *);
    va_end(rest);
    bool unlock = command == F_OFD_SETLK && ((const struct flock *)argument)->l_type == F_UNLCK;
    return fails(unlock ? ON_unlock : ON_fcntl64) ? -1 : __real_fcntl(fd, command, argument);
}

/* The tests do not cut the power, so nothing needs to reach the disk. */
WRAP(int, fsync, (int fd))
{
    return fails(ON_fsync) ? -1 : __real_fcntl(fd, F_GETFD) < 0 ? -1 : 0;
}

WRAP(int, fdatasync, (int fd))
{
    return fails(ON_fdatasync) ? -1 : __real_fcntl(fd, F_GETFD) < 0 ? -1 : 0;
}

WRAP_LARGE(int, fstatfs, (int fd, struct statfs *status))
{
    int result = fails(ON_fstatfs64) ? -1 : __real_fstatfs(fd, status);
    if (result == 0 && active && now.file_system != 0)
        status->f_type = (__typeof__(status->f_type))now.file_system;
    return result;
}

WRAP(int, msync, (void *at, size_t size, int flags))
{
    if (fails(ON_msync))
        return -1;
    flushed += (flags & MS_SYNC) != 0 ? size : 0;
    return __real_msync(at, size, flags & ~MS_SYNC);
}

int __wrap_asprintf(char **text, const char *format, ...) __attribute__((format(printf, 2, 3)));

WRAP(int, asprintf, (char **text, const char *format, ...))
{
    va_list rest;
    va_start(rest, format);
    int length = fails(ON_asprintf) ? -1 : vasprintf(text, format, rest);
    va_end(rest);
    return length;
}

WRAP_LARGE(int, open, (const char *path, int flags, ...))
{
    va_list rest;
    va_start(rest, flags);
    const mode_t mode = (flags & (O_CREAT | O_TMPFILE)) != 0 ? va_arg(rest, mode_t) : 0;
    va_end(rest);
    if (fails(ON_open64) || lacks(now.read_only && (flags & O_ACCMODE) != O_RDONLY, EACCES))
        return -1;
    return __real_open(path, flags, mode);
}

WRAP_LARGE(int, openat, (int dir, const char *path, int flags, ...))
{
    va_list rest;
    va_start(rest, flags);
    mode_t mode = va_arg(rest, mode_t);
    va_end(rest);
    if ((flags & O_TMPFILE) == O_TMPFILE && lacks(now.no_unnamed_files, EOPNOTSUPP))
        return -1;
    return fails(ON_openat64) ? -1 : __real_openat(dir, path, flags, mode);
}

static size_t at_most(size_t size, size_t limit)
{
    return active && limit != 0 && size > limit ? limit : size;
}

WRAP(ssize_t, read, (int fd, void *room, size_t size))
{
    if (fails(ON_read))
        return -1;
    if (active && now.text_read != NULL) {
        size = at_most(strlen(now.text_read), size);
        memcpy(room, now.text_read, size);
        now.text_read += size;
        return (ssize_t)size;
    }
    return __real_read(fd, room, at_most(size, now.transfer_at_most));
}

WRAP_LARGE(ssize_t, pread, (int fd, void *room, size_t size, off_t offset))
{
    if (fails(ON_pread64))
        return -1;
    if (active && now.file_ends_at != 0)
        size = (size_t)offset >= now.file_ends_at
                   ? 0
                   : at_most(size, now.file_ends_at - (size_t)offset);
    return __real_pread(fd, room, at_most(size, now.transfer_at_most), offset);
}

WRAP_LARGE(ssize_t, pwrite, (int fd, const void *bytes, size_t size, off_t offset))
{
    if (fails(ON_pwrite64))
        return errno == 0 ? 0 : -1;
    return __real_pwrite(fd, bytes, at_most(size, now.transfer_at_most), offset);
}
