/* SPDX-License-Identifier: MIT
 * New live filters, in a file or in memory. */
#include <bloomfile_hash.h>
#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "handle/changed.h"
#include "handle/live.h"
#include "image/image.h"
#include "image/params.h"
#include "open.h"
#include "os/file.h"
#include "os/publish.h"

static int plan(const struct bloomfile_params *given, struct header *h)
{
    struct bloomfile_params p;
    int error = params_take(&p, given);
    if (error == 0)
        error = params_refuse_of_builder(&p);
    if (error == 0 && p.capacity == 0 && p.bits == 0)
        error = BLOOMFILE_ECAPACITY;
    if (error == 0)
        error = params_plan(&p, 0, GEOMETRY_FILE_HEADER, h);
    if (error != 0)
        return error;
    image_describe(h);
    h->record.state = BLOOMFILE_LIVE;
    h->record.sequence = 1;
    return 0;
}

/* Like malloc(), takes no memory before it is touched, but refuses what could never be had. */
static int reserve_memory(int fd, uint64_t size)
{
    if (size > SIZE_MAX / 2)
        return BLOOMFILE_ETOOBIG;
    void *trial =
        mmap(NULL, (size_t)size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (trial == MAP_FAILED)
        return errno;
    munmap(trial, (size_t)size);
    return ftruncate(fd, (off_t)size) == 0 ? 0 : errno;
}

/* Writes an empty live image to the new file. */
static int lay_out(int fd, bool on_disk, struct header *h, uint64_t size)
{
    uint8_t bytes[HEADER_MAX];
    header_encode(h, bytes);
    int error = on_disk ? publish_allocate(fd, size, true) : reserve_memory(fd, size);
    return error != 0 ? error : file_write(fd, 0, bytes, sizeof bytes);
}

/* Opens a writer of the new file; the descriptor stays the caller's. */
static int open_new(bloomfile **out, int fd, const char *path, struct header *h, unsigned flags)
{
    const uint64_t size = geometry_of(h->layout, h->m, h->header_size).image_size;
    struct map map;
    struct stat status;
    bloomfile *f;
    int error = lay_out(fd, path != NULL, h, size);
    if (error == 0)
        error = map_file(&map, fd, 0, size, (struct map_wish){ .writable = true });
    if (error == 0)
        error = filter_new(&f, h, &map, 0);
    if (error == 0)
        error = bloomfile_name_hash(f, h->hash_id, h->self_test);
    if (error != 0)
        return error;
    int own = fcntl(fd, F_DUPFD_CLOEXEC, 0);
    error = own < 0 ? errno : filter_make_writer(f, own, flags);
    if (error == 0 && path != NULL)
        error = file_stat(own, &status);
    if (error == 0 && path != NULL)
        error = changed_note(f, path, &status);
    if (error != 0)
        bloomfile_close(f);
    else
        *out = f;
    return error;
}

static int create_at(bloomfile **out, const char *path, struct header *h, unsigned flags)
{
    struct publication *p;
    int fd, error = publish_start(&p, path, (flags & BLOOMFILE_REPLACE) != 0, &fd);
    if (error != 0)
        return error;
    error = open_new(out, fd, path, h, flags);
    if (error != 0) {
        publish_abandon(p);
        return error;
    }
    error = publish_finish(p);
    if (error != 0) {
        bloomfile_close(*out);
        *out = NULL;
    }
    return error;
}

int bloomfile_create(bloomfile **out, const char *path, const struct bloomfile_params *params,
                     unsigned flags)
{
    *out = NULL;
    if (path == NULL || (flags & ~(BLOOMFILE_REPLACE | BLOOMFILE_ADD_EXACT)) != 0)
        return BLOOMFILE_EPARAMS;
    struct header h;
    int error = plan(params, &h);
    return error != 0 ? error : create_at(out, path, &h, flags);
}

int bloomfile_create_memory(bloomfile **out, const struct bloomfile_params *params, unsigned flags)
{
    *out = NULL;
    if ((flags & ~(BLOOMFILE_ADD_EXACT | BLOOMFILE_SOLE_ADDER)) != 0)
        return BLOOMFILE_EPARAMS;
    struct header h;
    int error = plan(params, &h);
    if (error != 0)
        return error;
    int fd = memfd_create("bloomfile", MFD_CLOEXEC);
    if (fd < 0)
        return errno;
    error = open_new(out, fd, NULL, &h, flags);
    close(fd);
    return error;
}
