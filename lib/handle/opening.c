/* SPDX-License-Identifier: MIT
 * Opening a single image: its header, state and mapping. */
#include "handle/opening.h"

#include <bloomfile_inspect.h>
#include <bloomfile_open.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/decode.h"
#include "format/hash.h"
#include "handle/closing.h"
#include "handle/lookup.h"
#include "handle/operations.h"
#include "image/body.h"
#include "kernel/dispatch.h"
#include "live/adding.h"
#include "live/capacity.h"
#include "live/file_change.h"
#include "live/flush.h"
#include "live/join.h"
#include "os/file.h"
#include "os/host.h"

#define OPEN_TRIES 100 /* while other processes replace the file */

/* ---- checks before anything is mapped or changed */

static int blame(const struct opening *how, int error, uint64_t offset, const char *field)
{
    if (how->report != NULL) {
        how->report->file_error = error;
        how->report->offset = offset;
        how->report->field = field;
    }
    return error;
}

#define BLAME(how, error, name) blame(how, error, AT_##name, #name)

static bool expects(const struct opening *how, uint32_t what)
{
    return how->expected != NULL && (how->expected->expect & what) != 0;
}

/* Makes decode_header() record only the first fault. */
static struct header_faults expected_faults(const struct opening *how,
                                            struct bloomfile_fault *first)
{
    const bool xxh3 =
        expects(how, BLOOMFILE_EXPECT_HASH) && !hash_is_applications(how->expected->hash_id);
    return (struct header_faults){ .list = first, .room = 1, .xxh3_only = xxh3 };
}

static int check_hash(const struct opening *how, const struct header *h)
{
    const struct bloomfile_open_params *e = how->expected;
    if (h->hash_id != e->hash_id)
        return BLAME(how, BLOOMFILE_EHASH, hash_id);
    const uint64_t self_test =
        e->self_test_of != NULL ? e->self_test_of(e->context, h->seed) : e->self_test;
    const bool given = hash_is_applications(h->hash_id) || self_test != 0;
    if (given && h->self_test != self_test)
        return BLAME(how, BLOOMFILE_ESELFTEST, self_test);
    return 0;
}

static int check_keys(const struct opening *how, const struct header *h)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    info.key_kind = h->key_kind & 0xFF;
    info.key_size = h->key_kind >> 8;
    const int error = bloomfile_check_keys(&info, how->expected->key_kind, how->expected->key_size);
    return error != 0 ? BLAME(how, error, key_kind) : 0;
}

/* Compares a valid static header with the expectations of the caller. */
static int check_expected(const struct opening *how, const struct header *h)
{
    if (expects(how, BLOOMFILE_EXPECT_TAG) &&
        memcmp(h->tag, how->expected->tag, sizeof h->tag) != 0)
        return BLAME(how, BLOOMFILE_EDIFFERENTTAG, tag);
    if (expects(how, BLOOMFILE_EXPECT_SEED) && h->seed != how->expected->seed)
        return BLAME(how, BLOOMFILE_EDIFFERENTSEED, seed);
    const int error = expects(how, BLOOMFILE_EXPECT_HASH) ? check_hash(how, h) : 0;
    return error == 0 && expects(how, BLOOMFILE_EXPECT_KEYS) ? check_keys(how, h) : error;
}

/* Checks whether the caller may use a filter with this valid header. fd: of the whole file, or
 * -1. */
static int check_state(int fd, const struct header *h, const struct opening *how)
{
    const unsigned flags = how->flags;
    if (kernel_for(h->layout) == NULL)
        return BLOOMFILE_EFEATURE; /* this build leaves that part out */
    if (h->record.state == BLOOMFILE_STATE_POISONED)
        return BLOOMFILE_EPOISONED;
    if (h->record.state == BLOOMFILE_STATE_SEALED)
        return (flags & BLOOMFILE_OPEN_WRITE) != 0 ? BLOOMFILE_ESEALED : 0;
    if (fd < 0 || expects(how, BLOOMFILE_EXPECT_SEALED) ||
        (flags & (BLOOMFILE_OPEN_VERIFY_FULL | BLOOMFILE_OPEN_COPY)) != 0)
        return BLOOMFILE_ELIVE;
    if ((flags & BLOOMFILE_OPEN_WRITE) != 0 && h->ro_compat != 0)
        return BLOOMFILE_EFEATURE;
    if ((flags & BLOOMFILE_OPEN_SOLE_ADDER) != 0 && header_is_layer(h))
        return BLOOMFILE_EISSERIES;
    return join_check_clean(fd, h, (flags & BLOOMFILE_OPEN_ACCEPT_UNCLEAN) != 0);
}

/* ---- making the handle */

int opening_new(bloomfile_filter **out, const struct header *h, struct map *map,
                const struct opening *how)
{
    const unsigned flags = how->flags;
    bloomfile_filter *f = calloc(1, sizeof *f);
    if (f == NULL) {
        map_release(map);
        return ENOMEM;
    }
    const bool live = h->record.state == BLOOMFILE_STATE_LIVE;
    const bool solved = layout_of(h->layout)->solved;
    f->folder = f->reader = -1;
    f->map = *map;
    f->header = *h;
    f->geometry = geometry_of(h->layout, h->m, h->header_size);
    f->kernel = kernel_for(h->layout);
    f->view = (struct kernel_view){ .body = map->bytes + h->body_offset,
                                    .units = f->geometry.units,
                                    .k = h->k,
                                    .ignored = kernel_ignored(h->k) };
    if (solved)
        f->view.shapes = calloc((size_t)f->geometry.pages, sizeof *f->view.shapes);
    f->guard = &f->guard_storage;
    int error = guard_start(f->guard, f->view.body, h->body_size, h->record.body_crc,
                            live || (flags & BLOOMFILE_OPEN_VERIFY_NONE) != 0);
    if (solved && f->view.shapes == NULL)
        error = ENOMEM;
    f->guard->shapes = f->view.shapes;
    f->guard->lines = f->geometry.units;
    if (live && error == 0)
        error = live_new(f, map->bytes);
    if (live && error == 0)
        f->live->accept_unclean = (flags & BLOOMFILE_OPEN_ACCEPT_UNCLEAN) != 0;
    f->operations = live ? &operations_live : &operations_sealed;
    lookup_start_image(f, how->named);
    if (error == 0 && (flags & BLOOMFILE_OPEN_VERIFY_FULL) != 0) {
        map_expect(&f->map, MAP_SCAN);
        error = body_verify(h, f->view.body, f->guard, 1, NULL);
        map_expect(&f->map, MAP_LOOKUPS);
    }
    if (error != 0) {
        handle_close(f);
        return error;
    }
    *out = f;
    return 0;
}

int opening_join(bloomfile_filter *f, int fd, unsigned flags)
{
    bool layered;
    adding_start(f, flags);
    /* A layer keeps the identity from its opening: the descriptor number may belong to another file
     * now. */
    int error = f->live->fd == fd ? 0 : file_identify(fd, &f->live->own);
    if (error != 0) {
        close(fd);
        return error;
    }
    f->live->fd = fd;
    f->live->limit = capacity_limit(&f->header, flags);
    error = filesystem_check(fd, &layered);
    if (error == 0)
        error = join_writers(f);
    f->live->writing = error == 0;
    return error;
}

/* ---- an image in a file */

/* Reads and validates the header of the image at `offset`. */
static int read_header(int fd, uint64_t offset, uint64_t length, const struct opening *how,
                       struct header *h, struct header_faults *faults)
{
    struct bloomfile_fault first;
    for (int tries = 0; tries < HEADER_TRIES; tries++) {
        uint8_t bytes[HEADER_MAX];
        size_t size = length < sizeof bytes ? (size_t)length : sizeof bytes;
        int error = file_read(fd, offset, bytes, size);
        if (error != 0)
            return error;
        *faults = expected_faults(how, &first);
        decode_header(bytes, length, h, faults);
        if (faults->first != BLOOMFILE_ERECORD)
            break;
        sched_yield();
    }
    return faults->first != 0 ? blame(how, first.error, first.offset, first.field)
                              : check_expected(how, h);
}

/* The size of the image; in a series, of its first layer. */
static uint64_t size_of_image(const struct header *h)
{
    return geometry_of(h->layout, h->m, h->header_size).image_size;
}

static int map_filter(bloomfile_filter **out, int fd, uint64_t offset, const struct header *h,
                      const struct opening *how)
{
    const unsigned flags = how->flags;
    const struct map_wish wish = { .writable = (flags & BLOOMFILE_OPEN_WRITE) != 0,
                                   .copied = (flags & BLOOMFILE_OPEN_COPY) != 0,
                                   .resident = (flags & BLOOMFILE_OPEN_PREFAULT) != 0,
                                   .locked = (flags & BLOOMFILE_OPEN_LOCK) != 0 };
    struct map map;
    int error = map_file(&map, fd, offset, size_of_image(h), wish);
    if (error == 0)
        error = opening_new(out, h, &map, how);
    if (error != 0 || (flags & BLOOMFILE_OPEN_NOWAIT) == 0 || wish.copied)
        return error;
    (*out)->start = offset;
    (*out)->reader = fcntl(fd, F_DUPFD_CLOEXEC, FILE_LEAST);
    if ((*out)->reader >= 0)
        return 0;
    error = errno;
    handle_close(*out);
    *out = NULL;
    return error;
}

#ifndef BLOOMFILE_NO_LIVE

/* Opens a live file again, for reading, so that the kernel reports failed writes to this handle. On
 * overlayfs the file is opened for writing first: that copies it up, and writers use the copy. */
static int own_descriptor(int fd, int *own)
{
    bool layered;
    int error = filesystem_check(fd, &layered);
    if (error != 0)
        return error;
    if (layered) {
        if (file_open_again(fd, true, own) != 0)
            return BLOOMFILE_EFILESYSTEM;
        close(*own);
    }
    error = file_open_again(fd, false, own);
    if (error != EACCES && (error != ENOENT || layered))
        return error;
    *own = fcntl(fd, F_DUPFD_CLOEXEC, FILE_LEAST);
    return *own < 0 ? errno : 0;
}

static int map_own(bloomfile_filter **out, int own, uint64_t length, const struct opening *how)
{
    struct header header;
    struct header_faults faults;
    int error = read_header(own, 0, length, how, &header, &faults);
    if (error == 0)
        error = check_state(own, &header, how);
    if (error == 0)
        error = map_filter(out, own, 0, &header, how);
    return error;
}

static int open_live(bloomfile_filter **out, int fd, uint64_t length, const struct opening *how)
{
    int own, error = own_descriptor(fd, &own);
    if (error != 0)
        return error;
    error = map_own(out, own, length, how);
    if (error != 0 || (*out)->live == NULL) { /* another process sealed it meanwhile */
        close(own);
        return error;
    }
    error = file_identify(own, &(*out)->live->own);
    if (error != 0) {
        handle_close(*out);
        *out = NULL;
        close(own);
        return error;
    }
    (*out)->live->fd = own;
    return 0;
}

#else

static int open_live(bloomfile_filter **out, int fd, uint64_t length, const struct opening *how)
{
    (void)out, (void)fd, (void)length, (void)how;
    return BLOOMFILE_EFEATURE;
}

#endif

int opening_range(bloomfile_filter **out, int fd, const struct stat *status, uint64_t offset,
                  uint64_t length, const struct opening *how)
{
    uint64_t file_size = (uint64_t)status->st_size;
    if (offset > file_size)
        return BLOOMFILE_ETRUNCATED;
    if (length == BLOOMFILE_FROM_REST)
        length = file_size - offset;
    if (length > file_size - offset)
        return BLOOMFILE_ETRUNCATED;

    struct header header;
    struct header_faults faults;
    bool writing = (how->flags & BLOOMFILE_OPEN_WRITE) != 0;
    int error = read_header(fd, offset, length, how, &header, &faults);
    if (error == BLOOMFILE_ERECORD && writing && check_expected(how, &header) != 0)
        return check_expected(how, &header);
    bool was_read = error == 0 || error == BLOOMFILE_ERECORD;
    if (writing && was_read && header.ro_compat == 0 && decode_seal_unfinished(&header, &faults))
        error = seal_recovery_complete(fd, &header);
    const bool whole_file = length == file_size;
    if (error == 0 && header.record.state == BLOOMFILE_STATE_LIVE && whole_file && !writing)
        return open_live(out, fd, length, how);
    if (error == 0)
        error = check_state(whole_file ? fd : -1, &header, how);
    return error != 0 ? error : map_filter(out, fd, offset, &header, how);
}

/* ---- by path */

static int open_once(bloomfile_filter **out, const char *path, const struct opening *how, int *rest)
{
    bool writing = (how->flags & BLOOMFILE_OPEN_WRITE) != 0;
    bloomfile_filter *f = NULL;
    int fd, error = file_open(path, writing, &fd);
    if (error != 0)
        return error;
    struct stat status;
    error = file_stat_now(fd, &status); /* before the header is read */
    if (error == 0)
        error = opening_range(&f, fd, &status, 0, BLOOMFILE_FROM_REST, how);
    if (error == 0 && f->header.layers > 1 && (*rest = fcntl(fd, F_DUPFD_CLOEXEC, FILE_LEAST)) < 0)
        error = errno;
    const bool layer =
        error == 0 && header_is_layer(&f->header); /* a layer joins when keys are added */
    if (error == 0 && writing && !layer)
        error = opening_join(f, fd, how->flags);
    else if (error == 0 && writing)
        f->live->fd = fd;
    else
        close(fd);
    if (error == 0 && writing && layer)
        f->live->own = (struct file_identity){ status.st_dev, status.st_ino };
    if (error == 0 && f->live != NULL)
        error = file_stat(f->live->fd, &status); /* the inode of a layered file may have changed */
    if (error == 0)
        error = changed_note(f, path, &status);
    if (error != 0)
        handle_close(f);
    else
        *out = f;
    return error;
}

/* A writer must add to the file that has the name now. A reader that opened the file while it was
 * sealed must open it again, or the seal would look like a later change. */
static bool is_outdated(const bloomfile_filter *f, bool writing)
{
    return writing ? changed_is_stale(f) : changed_while_opened(f);
}

int opening_by_path(bloomfile_filter **out, const char *path, const struct opening *how, int *rest)
{
    const bool writing = (how->flags & BLOOMFILE_OPEN_WRITE) != 0;
    *rest = -1;
    for (int tries = 1;; tries++) {
        int error = open_once(out, path, how, rest);
        if (error != 0 || !is_outdated(*out, writing) || (!writing && tries == OPEN_TRIES))
            return error;
        handle_close(*out);
        *out = NULL;
        if (*rest >= 0)
            close(*rest);
        *rest = -1;
        if (tries == OPEN_TRIES)
            return EBUSY;
    }
}

/* ---- in memory */

int opening_memory(bloomfile_filter **out, const void *image, size_t size,
                   const struct opening *how)
{
    const bool copied = (how->flags & BLOOMFILE_OPEN_COPY) != 0,
               locked = (how->flags & BLOOMFILE_OPEN_LOCK) != 0;
    uint8_t bytes[HEADER_MAX];
    if (size > 0)
        memcpy(bytes, image, size < sizeof bytes ? size : sizeof bytes);
    struct header header;
    struct bloomfile_fault first;
    struct header_faults faults = expected_faults(how, &first);
    decode_header(bytes, size, &header, &faults);
    int error = faults.first != 0 ? blame(how, first.error, first.offset, first.field)
                                  : check_expected(how, &header);
    if (error == 0)
        error = check_state(-1, &header, how);
    if (error != 0)
        return error;
    struct map map = { .bytes = image };
    if (copied)
        error = map_copy(&map, image, (size_t)size_of_image(&header), locked);
    return error != 0 ? error : opening_new(out, &header, &map, how);
}
