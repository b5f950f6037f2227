/* SPDX-License-Identifier: MIT */
#include "residence.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

int residence_drop(const char *path)
{
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd < 0)
        return errno;
    int error = fsync(fd) != 0 ? errno : posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
    close(fd);
    return error;
}

static size_t count(void *mapping, size_t size, size_t pages, int *error)
{
    size_t resident = 0;
    unsigned char *in_core = malloc(pages);
    *error = in_core == NULL || mincore(mapping, size, in_core) != 0 ? errno : 0;
    for (size_t i = 0; *error == 0 && i < pages; i++)
        resident += in_core[i] & 1;
    free(in_core);
    return resident;
}

size_t residence_pages(const char *path, int *error)
{
    struct stat status;
    size_t resident = 0;
    const size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    *error = fd < 0 || fstat(fd, &status) != 0 ? errno : 0;
    if (*error == 0) {
        const size_t size = (size_t)status.st_size;
        void *mapping = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
        *error = mapping == MAP_FAILED ? errno : 0;
        if (*error == 0) {
            resident = count(mapping, size, (size + page_size - 1) / page_size, error);
            munmap(mapping, size);
        }
    }
    if (fd >= 0)
        close(fd);
    return resident;
}

uint64_t residence_read_bytes(void)
{
    char line[128];
    uint64_t bytes = 0;
    FILE *io = fopen("/proc/self/io", "r");
    while (io != NULL && fgets(line, sizeof line, io) != NULL)
        if (sscanf(line, "read_bytes: %" SCNu64, &bytes) == 1)
            break;
    if (io != NULL)
        fclose(io);
    return bytes;
}
