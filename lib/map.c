/* SPDX-License-Identifier: MIT */
#include "map.h"

#include <bloomfile.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/mman.h>
#include <unistd.h>

#define WRITE_AT_ONCE ((size_t)1 << 30)

int map_open(const char *path, bool writable, int *fd)
{
    int mode = writable ? O_RDWR : O_RDONLY;
    do
        *fd = open(path, mode | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    while (*fd < 0 && errno == EINTR);
    return *fd < 0 ? errno : 0;
}

int map_stat(int fd, struct stat *status)
{
    if (fstat(fd, status) != 0)
        return errno;
    if (S_ISDIR(status->st_mode))
        return EISDIR;
    return S_ISREG(status->st_mode) ? 0 : BLOOMFILE_ENOTREGULAR;
}

int map_read(int fd, uint64_t offset, void *buffer, size_t size)
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

int map_write(int fd, uint64_t offset, const void *bytes, size_t size)
{
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

int map_file(struct map *map, int fd, uint64_t offset, uint64_t size, bool writable)
{
    size_t before = (size_t)(offset % (uint64_t)sysconf(_SC_PAGESIZE));
    if (size > SIZE_MAX / 2 - before)
        return BLOOMFILE_ETOOBIG;
    size_t base_size = (size_t)size + before;
    int access = writable ? PROT_READ | PROT_WRITE : PROT_READ;
    void *base = mmap(NULL, base_size, access, MAP_SHARED, fd, (off_t)(offset - before));
    if (base == MAP_FAILED)
        return errno;
    *map = (struct map){ base, base_size, (const uint8_t *)base + before };
    map_expect(map, MAP_LOOKUPS);
    return 0;
}

uint8_t *map_bytes(const struct map *map)
{
    return map->base;
}

int map_reopen(const struct map *map, int fd)
{
    char path[sizeof "/proc/self/fd/" + 3 * sizeof fd];
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    int own, error = map_open(path, true, &own);
    if (error != 0)
        return error;
    const int flags = MAP_SHARED | MAP_FIXED;
    if (mmap(map->base, map->base_size, PROT_READ | PROT_WRITE, flags, own, 0) == MAP_FAILED ||
        dup3(own, fd, O_CLOEXEC) < 0)
        error = errno;
    close(own);
    map_expect(map, MAP_LOOKUPS);
    return error;
}

int map_sync(const struct map *map, size_t size)
{
    return msync(map->base, size, MS_SYNC) == 0 ? 0 : errno;
}

void map_expect(const struct map *map, enum map_use use)
{
    if (map->base != NULL)
        madvise(map->base, map->base_size, use == MAP_SCAN ? MADV_SEQUENTIAL : MADV_RANDOM);
}

void map_release(struct map *map)
{
    if (map->base != NULL)
        munmap(map->base, map->base_size);
}
