/* SPDX-License-Identifier: MIT
 * The pages of files in the page cache, by mincore(), posix_fadvise() and /proc/self/io. */
#include "residence.h"

#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
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

static size_t pages_of(off_t size)
{
    const size_t page_size = (size_t)sysconf(_SC_PAGESIZE);
    return ((size_t)size + page_size - 1) / page_size;
}

size_t residence_pages(const char *path, int *error)
{
    struct stat status;
    size_t resident = 0;
    const int fd = open(path, O_RDONLY | O_CLOEXEC);
    *error = fd < 0 || fstat(fd, &status) != 0 ? errno : 0;
    if (*error == 0 && status.st_size > 0) {
        const size_t size = (size_t)status.st_size;
        void *mapping = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
        *error = mapping == MAP_FAILED ? errno : 0;
        if (*error == 0) {
            resident = count(mapping, size, pages_of(status.st_size), error);
            munmap(mapping, size);
        }
    }
    if (fd >= 0)
        close(fd);
    return resident;
}

static struct {
    size_t pages, resident;
} dropped;

static int drop_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)place;
    if (type != FTW_F || !S_ISREG(status->st_mode))
        return 0;
    int error = residence_drop(path);
    if (error == 0)
        dropped.resident += residence_pages(path, &error);
    dropped.pages += pages_of(status->st_size);
    return error;
}

int residence_drop_all(const char *folder, double *stayed)
{
    dropped.pages = dropped.resident = 0;
    const int error = nftw(folder, drop_entry, 16, FTW_PHYS);
    *stayed = dropped.pages == 0 ? 0 : (double)dropped.resident / (double)dropped.pages;
    return error == -1 ? errno : error;
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
