/* SPDX-License-Identifier: MIT
 *
 * A module for LD_PRELOAD that interrupts a program at one of its calls of fsync(), rename(),
 * renameat(), linkat() and unlinkat(). Environment variables control it:
 *
 *   STOPS_AT             the number of the call, from 0; by default the call fails with EIO
 *   STOPS_BY             "kill": the process is killed instead; "stop": the process is stopped, and
 *                        makes the call when it continues
 *   STOPS_LOG            a file that lists each call with the path that it syncs, makes or removes
 *   STOPS_BEFORE_RESULT  if set, the process is stopped before the library makes a filter or a
 *                        patch from other filters
 *   STOPS_AT_END         if set, the process is stopped after it read the end of standard input
 *   LACKS_LINKS          if set, linkat() fails, and renameat2() with flags: the file system has
 *                        no hard links, and a rename always replaces
 *   LACKS_STATX          if set, statx() fails, as on Linux before 4.11
 */
#include <bloomfile_combine.h>
#include <bloomfile_delta.h>
#include <bloomfile_live.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void note(const char *call, const char *path)
{
    const char *log = getenv("STOPS_LOG");
    FILE *file = log == NULL ? NULL : fopen(log, "a");
    if (file == NULL)
        return;
    fprintf(file, "%s %s\n", call, path);
    fclose(file);
}

static bool stops(const char *call, const char *path)
{
    static int calls;
    note(call, path);
    const char *at = getenv("STOPS_AT"), *by = getenv("STOPS_BY");
    if (at == NULL || calls++ != atoi(at))
        return false;
    if (by != NULL && strcmp(by, "kill") == 0)
        raise(SIGKILL);
    if (by != NULL && strcmp(by, "stop") == 0) {
        raise(SIGSTOP);
        return false;
    }
    errno = EIO;
    return true;
}

int fsync(int fd)
{
    char link[64], path[4096] = "";
    snprintf(link, sizeof link, "/proc/self/fd/%d", fd);
    if (readlink(link, path, sizeof path - 1) == -1)
        path[0] = '\0';
    return stops("fsync", path) ? -1 : (int)syscall(SYS_fsync, fd);
}

int rename(const char *from, const char *to)
{
    return stops("rename", to) ? -1 : (int)syscall(SYS_renameat2, AT_FDCWD, from, AT_FDCWD, to, 0);
}

/* musl's headers do not declare it. */
int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags);

int linkat(int from_fd, const char *from, int to_fd, const char *to, int flags)
{
    if (getenv("LACKS_LINKS") != NULL) {
        errno = EPERM;
        return -1;
    }
    return stops("linkat", to) ? -1 : (int)syscall(SYS_linkat, from_fd, from, to_fd, to, flags);
}

struct statx;
int statx(int directory, const char *path, int flags, unsigned mask, struct statx *status);
int statx(int directory, const char *path, int flags, unsigned mask, struct statx *status)
{
    if (getenv("LACKS_STATX") != NULL) {
        errno = ENOSYS;
        return -1;
    }
    return (int)syscall(SYS_statx, directory, path, flags, mask, status);
}

int renameat2(int from_fd, const char *from, int to_fd, const char *to, unsigned flags)
{
    if (getenv("LACKS_LINKS") != NULL && flags != 0) {
        errno = EINVAL;
        return -1;
    }
    return (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, flags);
}

int unlinkat(int fd, const char *path, int flags)
{
    return stops("unlinkat", path) ? -1 : (int)syscall(SYS_unlinkat, fd, path, flags);
}

int renameat(int from_fd, const char *from, int to_fd, const char *to)
{
    return stops("rename", to) ? -1 : (int)syscall(SYS_renameat2, from_fd, from, to_fd, to, 0);
}

ssize_t read(int fd, void *to, size_t size)
{
    const ssize_t n = (ssize_t)syscall(SYS_read, fd, to, size);
    if (n == 0 && fd == STDIN_FILENO && getenv("STOPS_AT_END") != NULL)
        raise(SIGSTOP);
    return n;
}

/* ---- functions of the library that a tool calls after its last check of DEST */

static void find(const char *function, void *next)
{
    void *found = dlsym(RTLD_NEXT, function);
    memcpy(next, &found, sizeof found); /* ISO C has no cast from void * to a function */
    if (getenv("STOPS_BEFORE_RESULT") != NULL)
        raise(SIGSTOP);
}

#define FIND_NEXT(function)                                                                        \
    __typeof__(&(function)) next;                                                                  \
    find(#function, &next)

int bloomfile_copy_sealed(struct bloomfile_destination *to, const bloomfile_filter *f,
                          const struct bloomfile_metadata *metadata)
{
    FIND_NEXT(bloomfile_copy_sealed);
    return next(to, f, metadata);
}

int bloomfile_project(struct bloomfile_destination *to, const bloomfile_filter *f,
                      const struct bloomfile_metadata *metadata)
{
    FIND_NEXT(bloomfile_project);
    return next(to, f, metadata);
}

int bloomfile_fold(struct bloomfile_destination *to, const bloomfile_filter *f, uint64_t factor,
                   const struct bloomfile_metadata *metadata)
{
    FIND_NEXT(bloomfile_fold);
    return next(to, f, factor, metadata);
}

int bloomfile_patch(struct bloomfile_destination *to, const bloomfile_filter *f,
                    const struct bloomfile_source *patch, unsigned threads)
{
    FIND_NEXT(bloomfile_patch);
    return next(to, f, patch, threads);
}

int bloomfile_delta(struct bloomfile_destination *to, const bloomfile_filter *base,
                    const bloomfile_filter *result, unsigned threads)
{
    FIND_NEXT(bloomfile_delta);
    return next(to, base, result, threads);
}

int bloomfile_merge(struct bloomfile_destination *to, const bloomfile_filter *const *filters,
                    size_t count, const struct bloomfile_merge_params *params)
{
    FIND_NEXT(bloomfile_merge);
    return next(to, filters, count, params);
}

int bloomfile_join(struct bloomfile_destination *to, const bloomfile_filter *const *slices,
                   size_t count, const struct bloomfile_metadata *metadata, unsigned flags)
{
    FIND_NEXT(bloomfile_join);
    return next(to, slices, count, metadata, flags);
}
