/* SPDX-License-Identifier: MIT
 * Writing a new filter to a file, to a descriptor through a temporary file, or to memory. */
#include "image/new_image.h"
#include "format/invalid.h"

#include <bloomfile.h>
#include <bloomfile_inspect.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "format/bytes.h"
#include "format/decode.h"
#include "image/body.h"
#include "os/file.h"
#include "os/path.h"
#include "os/thread.h"

static int start_in_memory(struct new_image *r, const struct geometry *g)
{
    const int error = destination_fits(&r->to, g->image_size);
    if (error != 0)
        return error;
    r->image = destination_bytes(&r->to, (size_t)g->image_size);
    if (r->image == NULL)
        return ENOMEM;
    r->checksums = new_image_body(r) + g->body_size;
    return 0;
}

static int start_at_path(struct publication **p, const struct destination *d, int *fd)
{
    const struct bloomfile_destination *to = &d->to;
    int error = replaced_check(to->path, to->flags);
    if (error == 0)
        error = publish_start(p, to->path, to->flags != 0, fd);
    return error != 0 ? error : publish_replace_only(*p, &d->only);
}

int new_image_publication(struct publication **p, const struct destination *to, uint64_t size,
                          bool reserve, int *fd)
{
    *p = NULL;
    const bool in_memory = destination_is_memory(to);
    int error = in_memory ? destination_fits(to, size) : 0;
    if (error == 0)
        error =
            to->to.kind == BLOOMFILE_TO_PATH ? start_at_path(p, to, fd) : publish_copy(p, to, fd);
    if (error == 0 && in_memory)
        error = file_size_is_allowed(size) ? 0 : EFBIG;
    else if (error == 0 && size != 0)
        error = allocate_file(*fd, size, reserve);
    if (error != 0) {
        publish_abandon(*p);
        *p = NULL;
    }
    return error;
}

static int start_in_file(struct new_image *r, const struct geometry *g)
{
    const bool live = r->h->record.state == BLOOMFILE_STATE_LIVE;
    if (g->pages > SIZE_MAX / 4)
        return BLOOMFILE_ETOOBIG;
    if (!live && (r->checksums = malloc((size_t)g->pages * 4)) == NULL)
        return ENOMEM;
    if (r->to.to.kind == DESTINATION_PART) {
        r->fd = r->to.to.fd;
        return 0;
    }
    return new_image_publication(&r->publication, &r->to, g->image_size, live, &r->fd);
}

int new_image_start(struct new_image *r, struct header *h, struct destination to)
{
    const bool in_memory = destination_is_memory(&to);
    h->header_size = new_image_header_size(&to);
    image_describe(h);
    *r = (struct new_image){ .to = to, .fd = -1, .h = h };
    if (in_memory && header_is_slice(h)) /* an embedded header has no room for its fields */
        return BLOOMFILE_EISSLICE;
    body_pass_start(&r->pass, h);
    r->pass.weighed = true; /* the rate of a merged filter needs the counts */
    const struct geometry *g = &r->pass.geometry;
    return in_memory ? start_in_memory(r, g) : start_in_file(r, g);
}

uint8_t *new_image_body(const struct new_image *r)
{
    return r->image != NULL ? r->image + r->h->body_offset : NULL;
}

/* The last page in memory may be shorter. */
static int put_bytes(const struct new_image *r, const uint8_t *pages, size_t size)
{
    if (r->image == NULL)
        return file_write(r->fd, r->to.at + r->h->body_offset + r->at, pages, size);
    const uint64_t rest = r->h->body_size - r->at;
    memcpy(new_image_body(r) + r->at, pages, rest < size ? (size_t)rest : size);
    return 0;
}

int new_image_put(struct new_image *r, const uint8_t *pages, size_t size)
{
    for (size_t at = 0; r->checksums != NULL && at < size; at += CHECKSUM_PAGE) {
        uint8_t *entry = r->checksums + 4 * r->pass.page;
        put32(entry, body_pass_page(&r->pass, pages + at, pages + at + CHECKSUM_PAGE));
    }
    int error = put_bytes(r, pages, size);
    r->at += size;
    return error != 0 ? error : cancel_wanted();
}

void new_image_record(const struct new_image *r, struct record *record)
{
    image_record(record, r->pass.sum.crc, &r->pass.tally);
}

static int publish(struct new_image *r, const uint8_t *header)
{
    const struct header *h = r->h;
    int error = 0;
    if (r->checksums != NULL)
        error = file_write(r->fd, r->to.at + h->body_offset + h->body_size, r->checksums,
                           4 * (size_t)r->pass.geometry.pages);
    if (error == 0)
        error = file_write(r->fd, r->to.at, header, h->header_size);
    if (error != 0 || r->to.to.kind == DESTINATION_PART)
        return error;
    struct publication *complete = r->publication;
    r->publication = NULL;
    return publish_finish(complete);
}

int new_image_finish(struct new_image *r, struct header *h)
{
    uint8_t bytes[HEADER_MAX];
    int error = image_encode(h, bytes);
    if (error == 0)
        error = cancel_wanted();
    if (error != 0)
        return error;
    if (r->checksums != NULL)
        image_bind_checksums(r->checksums, r->pass.geometry.pages, h->record.body_crc);
    if (r->image == NULL)
        return publish(r, bytes);
    memcpy(r->image, bytes, h->header_size);
    destination_give(&r->to, r->image, (size_t)r->pass.geometry.image_size);
    r->image = NULL;
    return 0;
}

void new_image_abandon(struct new_image *r)
{
    publish_abandon(r->publication);
    if (!destination_is_memory(&r->to))
        free(r->checksums);
    destination_drop(&r->to, r->image);
}

/* ---- The other files of a live series: NAME.1, NAME.2 and so on. */

int replaced_read_header(int fd, uint64_t size, struct header *h)
{
    uint8_t bytes[HEADER_MAX];
    struct header_faults faults = { 0 };
    int error = file_read(fd, 0, bytes, size < sizeof bytes ? (size_t)size : sizeof bytes);
    if (error != 0)
        return error;
    decode_header(bytes, size, h, &faults);
    return faults.first == BLOOMFILE_ERECORD ? 0 : faults.first;
}

/* Opens only regular files. */
static int read_replaced(const char *path, struct header *h)
{
    struct stat status;
    int fd;
    if (stat(path, &status) != 0)
        return errno;
    int error = S_ISREG(status.st_mode) ? file_open(path, false, &fd) : BLOOMFILE_ENOTREGULAR;
    if (error != 0)
        return error;
    error = file_stat(fd, &status);
    if (error == 0)
        error = replaced_read_header(fd, (uint64_t)status.st_size, h);
    close(fd);
    return error;
}

static bool is_layer_of_slot(const struct header *h, uint64_t slot)
{
    return header_is_layer(h) && h->layers == 0 &&
           (h->generations != 0 ? h->layer % h->generations : h->layer) == slot;
}

static int check_others(const char *path, unsigned end)
{
    int error = 0;
    for (unsigned slot = 1; slot < end && error == 0; slot++) {
        char *name;
        if (asprintf(&name, "%s.%u", path, slot) < 0)
            return ENOMEM;
        error = access(name, F_OK) == 0 ? BLOOMFILE_ESERIES : 0;
        free(name);
    }
    return error;
}

/* Returns BLOOMFILE_ESERIES if the series of `path` has lost its first file. A second file that is
 * unreadable, or has a damaged header, counts as a layer. */
static int check_second(const char *path)
{
    struct header h = { 0 };
    struct stat named;
    char *name;
    if (asprintf(&name, "%s.1", path) < 0)
        return ENOMEM;
    const int error = lstat(name, &named) == 0 ? read_replaced(name, &h) : ENOENT;
    free(name);
    if (error == EACCES || error == BLOOMFILE_EHEADER || (error == 0 && is_layer_of_slot(&h, 1)))
        return BLOOMFILE_ESERIES;
    return error < 0 || error == ENOENT || error == ELOOP || error == ENOTDIR ? 0 : error;
}

/* The number of file names that a series with this first header may use. */
static unsigned names_of(const struct header *h)
{
    return h->generations != 0 ? h->generations : HEADER_MOST_LAYERS;
}

int replaced_check(const char *path, unsigned flags)
{
    struct header h = { 0 };
    int error = read_replaced(path, &h);
    if (error != ENOENT && (flags & BLOOMFILE_TO_REPLACE) == 0)
        return 0; /* EEXIST later */
    if (error == 0 && !is_layer_of_slot(&h, 0))
        return 0;
    if (error > 0 && error != EACCES && error != ENOENT)
        return error;
    struct stat named = { 0 };
    const bool exists = error != ENOENT;
    if (exists && lstat(path, &named) != 0 && errno != ENOENT)
        return errno;
    char *real = exists && S_ISLNK(named.st_mode) ? path_without_links(path) : strdup(path);
    if (real == NULL)
        return errno;
    if (error == EACCES)
        error = check_others(real, 2);
    else
        error = error != 0 ? check_second(real) : check_others(real, names_of(&h));
    free(real);
    return error;
}
