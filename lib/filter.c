/* SPDX-License-Identifier: MIT */
#include "filter.h"

#include "body.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define OPEN_FLAGS (BLOOMFILE_VERIFY_FULL | BLOOMFILE_VERIFY_NONE)

/* The header, if it is valid and this version can use the filter. */
static int accept_header(const uint8_t *bytes, uint64_t size, struct header *h)
{
    struct header_faults faults = { 0 };
    header_decode(bytes, size, h, &faults);
    if (faults.first != 0)
        return faults.first;
    if (h->record.state == BLOOMFILE_POISONED)
        return BLOOMFILE_EPOISONED;
    return h->record.state == BLOOMFILE_LIVE ? BLOOMFILE_ELIVE : 0;
}

/* Makes the handle; `map` is its own from here on, also on failure. */
static int filter_new(bloomfile **out, const struct header *h, struct map *map, unsigned flags)
{
    bloomfile *f = calloc(1, sizeof *f);
    if (f == NULL) {
        map_release(map);
        return ENOMEM;
    }
    f->map = *map;
    f->header = *h;
    f->geometry = geometry_of(h->layout, h->m, h->header_size);
    f->units = f->geometry.units;
    f->kernel = kernel_for(h->layout);
    f->body = map->bytes + h->body_offset;
    f->guard = &f->guard_storage;
    int error = guard_start(f->guard, f->body, h->body_size, h->record.body_crc,
                            (flags & BLOOMFILE_VERIFY_NONE) != 0);
    if (error == 0 && (flags & BLOOMFILE_VERIFY_FULL) != 0) {
        map_expect(&f->map, MAP_SCAN);
        error = body_verify(h, f->body, f->guard, NULL);
        map_expect(&f->map, MAP_LOOKUPS);
    }
    if (error != 0) {
        bloomfile_close(f);
        return error;
    }
    *out = f;
    return 0;
}

static bool flags_valid(unsigned flags)
{
    return (flags & ~OPEN_FLAGS) == 0 && flags != OPEN_FLAGS;
}

static int open_range(bloomfile **out, int fd, const struct stat *status, uint64_t offset,
                      uint64_t length, unsigned flags)
{
    uint64_t file_size = (uint64_t)status->st_size;
    if (offset > file_size)
        return BLOOMFILE_ETRUNCATED;
    if (length == BLOOMFILE_TO_END)
        length = file_size - offset;
    if (length > file_size - offset)
        return BLOOMFILE_ETRUNCATED;

    uint8_t bytes[HEADER_MAX];
    int error = map_read(fd, offset, bytes, length < sizeof bytes ? (size_t)length : sizeof bytes);
    if (error != 0)
        return error;
    struct header header;
    error = accept_header(bytes, length, &header);
    if (error != 0)
        return error;
    struct map map;
    error = map_file(&map, fd, offset, length);
    return error != 0 ? error : filter_new(out, &header, &map, flags);
}

/* The path as it is understood now, whatever the working directory will be; links stay links. */
static char *absolute_path(const char *path)
{
    if (path[0] == '/')
        return strdup(path);
    char *absolute, *directory = getcwd(NULL, 0);
    if (directory == NULL && errno != ENOMEM)
        return strdup(path); /* the directory has no name any more: the path is all there is */
    if (directory == NULL || asprintf(&absolute, "%s/%s", directory, path) < 0)
        absolute = NULL;
    free(directory);
    return absolute;
}

int bloomfile_open(bloomfile **out, const char *path, unsigned flags)
{
    *out = NULL;
    if (!flags_valid(flags))
        return BLOOMFILE_EPARAMS;
    int fd;
    int error = map_open(path, &fd);
    if (error != 0)
        return error;
    struct stat status;
    error = map_stat(fd, &status);
    if (error == 0)
        error = open_range(out, fd, &status, 0, BLOOMFILE_TO_END, flags);
    close(fd);
    if (error != 0)
        return error;
    bloomfile *f = *out;
    f->path = absolute_path(path);
    f->device = status.st_dev;
    f->inode = status.st_ino;
    if (f->path == NULL) {
        bloomfile_close(f);
        *out = NULL;
        return ENOMEM;
    }
    return 0;
}

int bloomfile_open_fd(bloomfile **out, int fd, uint64_t offset, uint64_t length, unsigned flags)
{
    *out = NULL;
    if (!flags_valid(flags))
        return BLOOMFILE_EPARAMS;
    struct stat status;
    int error = map_stat(fd, &status);
    return error != 0 ? error : open_range(out, fd, &status, offset, length, flags);
}

int bloomfile_open_memory(bloomfile **out, const void *image, size_t size, unsigned flags)
{
    *out = NULL;
    if (!flags_valid(flags))
        return BLOOMFILE_EPARAMS;
    uint8_t bytes[HEADER_MAX];
    if (size > 0)
        memcpy(bytes, image, size < sizeof bytes ? size : sizeof bytes);
    struct header header;
    int error = accept_header(bytes, size, &header);
    if (error != 0)
        return error;
    struct map map = { .bytes = image };
    return filter_new(out, &header, &map, flags);
}

void bloomfile_close(bloomfile *f)
{
    if (f == NULL)
        return;
    guard_release(f->guard);
    map_release(&f->map);
    free(f->path);
    free(f);
}

int bloomfile_is_stale(const bloomfile *f)
{
    if (f->path == NULL)
        return 0;
    struct stat now;
    if (stat(f->path, &now) != 0)
        return errno == ENOENT || errno == ENOTDIR;
    return now.st_dev != f->device || now.st_ino != f->inode;
}

int bloomfile_status(const bloomfile *f)
{
    return atomic_load(&f->guard->error);
}

uint64_t bloomfile_seed(const bloomfile *f)
{
    return f->header.seed;
}

const char *bloomfile_kernel_name(const bloomfile *f)
{
    return f->kernel->name;
}
