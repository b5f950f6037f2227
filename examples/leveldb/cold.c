/* SPDX-License-Identifier: MIT */
#include "cold.h"

#include <dirent.h>
#include <err.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

typedef void file_call(int fd, const struct stat *status, const char *name, void *context);

static void each_file(const char *folder, file_call *call, void *context)
{
    DIR *directory = opendir(folder);
    if (directory == NULL)
        err(2, "cannot open %s", folder);
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        struct stat status;
        const int fd = openat(dirfd(directory), entry->d_name, O_RDONLY | O_CLOEXEC);
        if (fd == -1 || fstat(fd, &status) == -1)
            err(2, "cannot open %s/%s", folder, entry->d_name);
        if (S_ISREG(status.st_mode))
            call(fd, &status, entry->d_name, context);
        close(fd);
    }
    closedir(directory);
}

static size_t pages_in_memory(int fd, size_t size)
{
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), pages = (size + page - 1) / page;
    size_t count = 0;
    unsigned char *present = malloc(pages);
    void *mapping = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    if (present == NULL || mapping == MAP_FAILED || mincore(mapping, size, present) == -1)
        err(2, "cannot see what is in memory");
    for (size_t i = 0; i < pages; i++)
        count += present[i] & 1;
    munmap(mapping, size);
    free(present);
    return count;
}

static void evict(int fd, const struct stat *status, const char *name, void *context)
{
    size_t *left = context;
    if (fsync(fd) == -1)
        err(2, "cannot sync %s", name);
    const int error = posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    if (error != 0)
        errx(2, "cannot drop %s from memory: %s", name, strerror(error));
    if (status->st_size > 0)
        *left += pages_in_memory(fd, (size_t)status->st_size);
}

void cold_evict(const char *folder)
{
    size_t left = 0;
    each_file(folder, evict, &left);
    if (left > 0)
        warnx("%s: %zu pages stay in memory, so what is called cold is not", folder, left);
}

static bool ends_with(const char *text, const char *ending)
{
    const size_t size = strlen(text), ending_size = strlen(ending);
    return size >= ending_size && strcmp(text + size - ending_size, ending) == 0;
}

void cold_map_pages_alone(const char *ending)
{
    char line[8192];
    uintptr_t first, end;
    FILE *maps = fopen("/proc/self/maps", "re");
    if (maps == NULL)
        err(2, "cannot open /proc/self/maps");
    while (fgets(line, sizeof line, maps) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (!ends_with(line, ending) || sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &first, &end) != 2)
            continue;
        if (madvise((void *)first, end - first, MADV_RANDOM) == -1 ||
            madvise((void *)first, end - first, MADV_DONTNEED) == -1)
            err(2, "cannot advise on a mapping");
    }
    fclose(maps);
}

uint64_t cold_bytes_read(void)
{
    char line[128];
    uint64_t bytes;
    bool found = false;
    FILE *io = fopen("/proc/self/io", "re");
    if (io == NULL)
        err(2, "cannot open /proc/self/io");
    while (!found && fgets(line, sizeof line, io) != NULL)
        found = sscanf(line, "read_bytes: %" SCNu64, &bytes) == 1;
    fclose(io);
    if (!found)
        errx(2, "/proc/self/io does not tell what is read");
    return bytes;
}

struct sum {
    const char *ending;
    uint64_t bytes;
};

static void add_size(int fd, const struct stat *status, const char *name, void *context)
{
    (void)fd;
    struct sum *sum = context;
    if (ends_with(name, sum->ending))
        sum->bytes += (uint64_t)status->st_size;
}

uint64_t cold_size(const char *folder, const char *ending)
{
    struct sum sum = { ending, 0 };
    each_file(folder, add_size, &sum);
    return sum.bytes;
}
