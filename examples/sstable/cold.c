/* SPDX-License-Identifier: MIT */
#include "cold.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

struct pages {
    size_t all, resident;
};

static void count_resident(int fd, size_t size, struct pages *pages)
{
    const size_t count = (size + 4095) / 4096;
    unsigned char *resident = malloc(count);
    void *bytes = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    const bool known =
        resident != NULL && bytes != MAP_FAILED && mincore(bytes, size, resident) == 0;
    pages->all += count;
    for (size_t i = 0; i < count; i++)
        pages->resident += known ? resident[i] & 1 : 1;
    if (bytes != MAP_FAILED)
        munmap(bytes, size);
    free(resident);
}

static void evict_file(int fd, struct pages *pages)
{
    struct stat status;
    if (fstat(fd, &status) == -1 || !S_ISREG(status.st_mode) || status.st_size == 0)
        return;
    (void)posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    count_resident(fd, (size_t)status.st_size, pages);
}

bool evict(const char *path)
{
    struct pages pages = { 0 };
    DIR *directory = opendir(path);
    if (directory == NULL)
        return false;
    for (const struct dirent *entry; (entry = readdir(directory)) != NULL;) {
        const int fd = openat(dirfd(directory), entry->d_name, O_RDONLY | O_CLOEXEC);
        if (fd == -1)
            continue;
        evict_file(fd, &pages);
        close(fd);
    }
    closedir(directory);
    return pages.resident * 100 <= pages.all;
}

int64_t bytes_read_from_disk(void)
{
    FILE *file = fopen("/proc/self/io", "re");
    char line[128];
    int64_t bytes = -1;
    if (file == NULL)
        return -1;
    while (bytes == -1 && fgets(line, sizeof line, file) != NULL) {
        if (sscanf(line, "read_bytes: %" SCNd64, &bytes) != 1)
            bytes = -1;
    }
    fclose(file);
    return bytes;
}
