/* SPDX-License-Identifier: MIT */
#include "measure.h"
#include "trouble.h"

#include <err.h>
#include <fcntl.h>
#include <ftw.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

static char *folder;

static int remove_one(const char *path, const struct stat *status, int type, struct FTW *at)
{
    (void)status;
    (void)type;
    (void)at;
    return remove(path);
}

/* A child that outlives the program and its terminal waits for the pipe to close. */
static void remove_at_end(const int alive[2])
{
    const pid_t pid = fork();
    if (pid == -1)
        err(2, "cannot prepare to clean up");
    if (pid != 0) {
        close(alive[0]);
        return;
    }
    char byte;
    close(alive[1]);
    setsid();
    if (read(alive[0], &byte, 1) == -1 || nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS) == -1)
        err(2, "cannot remove %s", folder);
    _exit(0);
}

void measure_make_folder(const char *in)
{
    int alive[2];
    if (in == NULL && (in = getenv("TMPDIR")) == NULL)
        in = "/tmp";
    folder = join(in, "/", "rocksdb-measure.XXXXXX");
    if (pipe2(alive, O_CLOEXEC) == -1)
        err(2, "cannot prepare to clean up");
    if (mkdtemp(folder) == NULL)
        err(2, "cannot make a folder in %s", in);
    remove_at_end(alive);
}

char *measure_path(const char *name)
{
    return join(folder, "/", name);
}

static void count_resident(int fd, const char *path, uint64_t *pages, uint64_t *stayed)
{
    struct stat status;
    if (fstat(fd, &status) == -1)
        err(2, "cannot find the size of %s", path);
    const size_t page = (size_t)sysconf(_SC_PAGESIZE), size = (size_t)status.st_size;
    const size_t count = (size + page - 1) / page;
    if (count == 0)
        return;
    unsigned char *resident = malloc(count);
    void *mapping = mmap(NULL, size, PROT_READ, MAP_SHARED, fd, 0);
    if (resident == NULL || mapping == MAP_FAILED || mincore(mapping, size, resident) == -1)
        err(2, "cannot tell what of %s is in memory", path);
    for (size_t i = 0; i < count; i++)
        *stayed += resident[i] & 1;
    *pages += count;
    munmap(mapping, size);
    free(resident);
}

void measure_evict_file(const char *path, uint64_t *pages, uint64_t *stayed)
{
    const int fd = open(path, O_RDWR | O_CLOEXEC);
    if (fd == -1 || fsync(fd) == -1)
        err(2, "cannot write %s to disk", path);
    if (posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED) != 0)
        errx(2, "cannot take %s out of memory", path);
    count_resident(fd, path, pages, stayed);
    close(fd);
}

uint64_t measure_read_bytes(void)
{
    uint64_t bytes = 0;
    char line[128];
    FILE *io = fopen("/proc/self/io", "re");
    while (io != NULL && fgets(line, sizeof line, io) != NULL)
        if (sscanf(line, "read_bytes: %" SCNu64, &bytes) == 1)
            break;
    if (io != NULL)
        fclose(io);
    return bytes;
}

double measure_now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}
