/* SPDX-License-Identifier: MIT */
#include "map.h"

#include <bloomfile.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

int map_open(const char *path, int *fd)
{
    do
        *fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
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

int map_file(struct map *map, int fd, uint64_t offset, uint64_t size)
{
    size_t before = (size_t)(offset % (uint64_t)sysconf(_SC_PAGESIZE));
    if (size > SIZE_MAX / 2 - before)
        return BLOOMFILE_ETOOBIG;
    size_t base_size = (size_t)size + before;
    void *base = mmap(NULL, base_size, PROT_READ, MAP_SHARED, fd, (off_t)(offset - before));
    if (base == MAP_FAILED)
        return errno;
    *map = (struct map){ base, base_size, (const uint8_t *)base + before };
    map_expect(map, MAP_LOOKUPS);
    return 0;
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
