/* SPDX-License-Identifier: MIT
 * Opening, reading, writing, allocating and flushing files. System calls interrupted by a signal
 * are repeated. */
#include "os/file.h"

#include <bloomfile.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/statvfs.h>
#include <sys/sysmacros.h>
#include <sys/uio.h>

#include "os/thread.h"

#define FILE_PAGE 4096
#ifndef RWF_NOWAIT
#define RWF_NOWAIT 8
#endif
#define WRITE_AT_ONCE   ((size_t)1 << 30)
#define EXTENTS_AT_ONCE 64

int file_open(const char *path, bool writable, int *fd)
{
    int mode = writable ? O_RDWR : O_RDONLY;
    do
        *fd = open(path, mode | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    while (*fd < 0 && errno == EINTR);
    *fd = file_apart(*fd);
    return *fd < 0 ? errno : 0;
}

static int check_regular(const struct stat *status)
{
    if (S_ISDIR(status->st_mode))
        return EISDIR;
    return S_ISREG(status->st_mode) ? 0 : BLOOMFILE_ENOTREGULAR;
}

int file_stat(int fd, struct stat *status)
{
    return fstat(fd, status) != 0 ? errno : check_regular(status);
}

#if defined STATX_BASIC_STATS && defined AT_STATX_FORCE_SYNC
#define FORCE_SYNC AT_STATX_FORCE_SYNC
#define DONT_SYNC  AT_STATX_DONT_SYNC

static struct timespec time_of(struct statx_timestamp time)
{
    return (struct timespec){ .tv_sec = (time_t)time.tv_sec, .tv_nsec = time.tv_nsec };
}

/* Returns false if the system lacks or forbids statx(), and after other errors, which stat() will
 * report. */
static bool stat_by_statx(int folder, const char *path, int flags, struct stat *status)
{
    struct statx x;
    if (statx(folder, path, flags, STATX_BASIC_STATS, &x) != 0)
        return false;
    *status = (struct stat){ .st_dev = makedev(x.stx_dev_major, x.stx_dev_minor),
                             .st_ino = (ino_t)x.stx_ino,
                             .st_mode = x.stx_mode,
                             .st_nlink = x.stx_nlink,
                             .st_size = (off_t)x.stx_size,
                             .st_mtim = time_of(x.stx_mtime),
                             .st_ctim = time_of(x.stx_ctime) };
    return true;
}
#else
#define FORCE_SYNC 0
#define DONT_SYNC  0

static bool stat_by_statx(int folder, const char *path, int flags, struct stat *status)
{
    (void)folder, (void)path, (void)flags, (void)status;
    return false;
}
#endif

int file_stat_now(int fd, struct stat *status)
{
    return stat_by_statx(fd, "", AT_EMPTY_PATH | FORCE_SYNC, status) ? check_regular(status)
                                                                     : file_stat(fd, status);
}

int file_stat_path_now(const char *path, struct stat *status)
{
    return stat_by_statx(AT_FDCWD, path, FORCE_SYNC, status) || stat(path, status) == 0 ? 0 : errno;
}

/* For device and inode only, which never change: does not query the server of a network file
 * system. */
static int stat_cheaply(int fd, struct stat *status)
{
    if (stat_by_statx(fd, "", AT_EMPTY_PATH | DONT_SYNC, status))
        return 0;
    return fstat(fd, status) != 0 ? errno : 0;
}

int file_identify(int fd, struct file_identity *file)
{
    struct stat status;
    const int error = stat_cheaply(fd, &status);
    if (error == 0)
        *file = (struct file_identity){ status.st_dev, status.st_ino };
    return error;
}

int file_check_size(int fd, const struct file_identity *file, off_t *size)
{
    struct stat status;
    const int error = stat_cheaply(fd, &status);
    if (error != 0)
        return error;
    *size = status.st_size;
    return status.st_dev == file->device && status.st_ino == file->inode ? 0 : EBADF;
}

int file_check(int fd, const struct file_identity *file)
{
    off_t size;
    return file_check_size(fd, file, &size);
}

bool file_is_writable(int fd)
{
    return (fcntl(fd, F_GETFL) & O_ACCMODE) == O_RDWR;
}

bool file_name_is_gone(int error, int fd)
{
    struct stat status;
    if (error == ENOENT || error == ENOTDIR)
        return true;
    return fd >= 0 && fstat(fd, &status) == 0 && status.st_nlink == 0;
}

int file_read(int fd, uint64_t offset, void *buffer, size_t size)
{
    for (size_t done = 0; done < size;) {
        ssize_t got = pread(fd, (uint8_t *)buffer + done, size - done, (off_t)(offset + done));
        if (got < 0 && errno != EINTR)
            return errno;
        if (got == 0)
            return BLOOMFILE_ETRUNCATED;
        if (got > 0)
            done += (size_t)got;
    }
    return 0;
}

bool file_is_cached(int fd, uint64_t offset, size_t size)
{
    uint8_t page[FILE_PAGE];
    const struct iovec to = { page, size };
    /* Not every C library has preadv2(). The system call takes the offset as two words; the second
     * is used by 32-bit machines. */
    return syscall(SYS_preadv2, fd, &to, 1, (unsigned long)offset, (unsigned long)(offset >> 32),
                   RWF_NOWAIT) == (long)size;
}

int file_read_some(int fd, uint64_t offset, void *buffer, size_t most, size_t *size)
{
    ssize_t got;
    while ((got = offset == FILE_HERE ? read(fd, buffer, most)
                                      : pread(fd, buffer, most, (off_t)offset)) < 0) {
        if (errno == EAGAIN)
            poll(&(struct pollfd){ .fd = fd, .events = POLLIN }, 1, -1);
        else if (errno != EINTR)
            return errno;
        int error = cancel_wanted();
        if (error != 0)
            return error;
    }
    *size = (size_t)got;
    return 0;
}

int file_write(int fd, uint64_t offset, const void *bytes, size_t size)
{
    if (!file_size_is_allowed(offset + size))
        return EFBIG;
    for (size_t done = 0; done < size;) {
        size_t rest = size - done;
        ssize_t wrote = pwrite(fd, (const uint8_t *)bytes + done,
                               rest < WRITE_AT_ONCE ? rest : WRITE_AT_ONCE, (off_t)(offset + done));
        if (wrote < 0 && errno != EINTR)
            return errno;
        if (wrote == 0)
            return EIO;
        if (wrote > 0)
            done += (size_t)wrote;
    }
    return 0;
}

static bool reports_nothing(int error)
{
    return error == EOPNOTSUPP || error == ENOTTY || error == ENOSYS || error == EINVAL ||
           error == EBADR || error == EPERM || error == EACCES;
}

/* By FIEMAP. */
int file_check_written(int fd, uint64_t offset, uint64_t size)
{
    union {
        struct fiemap map;
        uint8_t room[sizeof(struct fiemap) + EXTENTS_AT_ONCE * sizeof(struct fiemap_extent)];
    } found;
    const uint64_t end = offset + size;
    uint64_t at = offset;
    do {
        found.map = (struct fiemap){ .fm_start = at,
                                     .fm_length = end - at,
                                     .fm_flags = FIEMAP_FLAG_SYNC,
                                     .fm_extent_count = EXTENTS_AT_ONCE };
        int result;
        do
            result = ioctl(fd, FS_IOC_FIEMAP, &found);
        while (result != 0 && errno == EINTR);
        if (result != 0)
            return reports_nothing(errno) ? 0 : errno;
        for (uint32_t i = 0; i < found.map.fm_mapped_extents; i++) {
            if ((found.map.fm_extents[i].fe_flags & FIEMAP_EXTENT_UNWRITTEN) != 0)
                return EIO;
            at = found.map.fm_extents[i].fe_logical + found.map.fm_extents[i].fe_length;
        }
    } while (at < end && found.map.fm_mapped_extents == EXTENTS_AT_ONCE);
    return 0;
}

int file_open_again(int fd, bool writable, int *own)
{
    char path[sizeof "/proc/self/fd/" + 3 * sizeof fd];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    return file_open(path, writable, own);
}

int file_reopen(int fd)
{
    int own, error = file_open_again(fd, false, &own);
    if (error != 0)
        return error;
    if (dup3(own, fd, O_CLOEXEC) < 0)
        error = errno;
    close(own);
    return error;
}

int file_flush(int fd)
{
    int result;
    do
        result = fdatasync(fd);
    while (result != 0 && errno == EINTR);
    return result == 0 ? 0 : errno;
}

/* After an I/O error XFS shuts down and loses the names. fsync() of a directory then still returns
 * 0, but fstat() returns EIO. */
int file_flush_names(int directory)
{
    struct stat status;
    if (fsync(directory) != 0 && errno != EINVAL)
        return errno;
    return fstat(directory, &status) == 0 ? 0 : errno;
}

int file_flush_directory(const char *path)
{
    char *folder = strdup(path);
    if (folder == NULL)
        return ENOMEM;
    int fd = open(dirname(folder), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    int error = fd < 0 ? errno : 0;
    if (error == 0)
        error = file_flush_names(fd);
    if (fd >= 0)
        close(fd);
    free(folder);
    return error;
}

bool file_size_is_allowed(uint64_t size)
{
    struct rlimit limit;
    return getrlimit(RLIMIT_FSIZE, &limit) != 0 || size <= limit.rlim_cur;
}

/* ---- By fcntl(F_DUPFD). */

int file_apart(int fd)
{
    if (fd < 0 || fd >= FILE_LEAST)
        return fd;
    const int apart = fcntl(fd, F_DUPFD_CLOEXEC, FILE_LEAST), error = errno;
    close(fd);
    errno = error;
    return apart;
}

/* ---- Allocation by fallocate(), or by writing zeros. On a disk that is too small, either would
 * fail only after it has filled the disk, so the free space is checked first. */

/* Returns whether the file system certainly lacks room. Some FUSE file systems, and a tmpfs without
 * a limit, do not report their size. Ignores quotas. */
static bool lacks_room(int fd, uint64_t size)
{
    struct statvfs disk;
    if (fstatvfs(fd, &disk) != 0 || disk.f_blocks == 0 || disk.f_frsize == 0)
        return false;
    const uint64_t blocks = geteuid() == 0 ? disk.f_bfree : disk.f_bavail;
    return size / disk.f_frsize > blocks;
}

static int reserve_blocks(int fd, uint64_t size)
{
    int result;
    do
        result = fallocate(fd, 0, 0, (off_t)size);
    while (result != 0 && errno == EINTR);
    return result == 0 ? 0 : errno;
}

static int write_zeros(int fd, uint64_t size)
{
    static const uint8_t zeros[1 << 16];
    int error = 0;
    for (uint64_t at = 0; at < size && error == 0; at += sizeof zeros) {
        uint64_t rest = size - at;
        error = file_write(fd, at, zeros, rest < sizeof zeros ? (size_t)rest : sizeof zeros);
    }
    return error;
}

int allocate_file(int fd, uint64_t size, bool reserve)
{
    if (!file_size_is_allowed(size))
        return EFBIG;
    const bool lacking = lacks_room(fd, size);
    if (lacking && reserve)
        return ENOSPC;
    const int error = reserve_blocks(fd, lacking ? 1 : size);
    if (error == 0)
        return lacking ? ENOSPC : 0;
    if (error != EOPNOTSUPP && error != ENOSYS)
        return error;
    return reserve ? write_zeros(fd, size) : 0;
}

/* ---- Unnamed temporary files: by O_TMPFILE, or by unlinking the file right after creating it. */

/* Creates a file and unlinks it. Only a kill between the two calls leaves it behind. */
static int open_and_unlink(const char *folder, int *fd)
{
    char *name;
    if (asprintf(&name, "%s/.bloomfile.XXXXXX", folder) < 0)
        return ENOMEM;
    sigset_t before;
    signals_hold(&before);
    *fd = mkostemp(name, O_CLOEXEC);
    int error = *fd < 0 || unlinkat(AT_FDCWD, name, 0) != 0 ? errno : 0;
    signals_let_go(&before);
    free(name);
    if (error != 0 && *fd >= 0) {
        close(*fd);
        *fd = -1;
    }
    if (error == 0 && (*fd = file_apart(*fd)) < 0)
        error = errno;
    return error;
}

const char *spool_folder(const char *named)
{
    const char *folder = named != NULL ? named : secure_getenv("TMPDIR");
    return folder != NULL && *folder != '\0' ? folder : "/tmp";
}

int spool_file(const char *folder, int *fd)
{
    do
        *fd = openat(AT_FDCWD, folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    while (*fd < 0 && errno == EINTR);
    *fd = file_apart(*fd);
    if (*fd >= 0)
        return 0;
    if (errno == EOPNOTSUPP || errno == EISDIR || errno == EINVAL)
        return open_and_unlink(folder, fd);
    return errno;
}
