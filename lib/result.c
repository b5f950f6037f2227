/* SPDX-License-Identifier: MIT */
#include "result.h"

#include <bloomfile_inspect.h>
#include <errno.h>
#include <stdlib.h>

#include "bytes.h"
#include "image.h"
#include "map.h"

int result_start(struct result *r, const struct header *h, const char *path, unsigned flags)
{
    const bool live = h->record.state == BLOOMFILE_LIVE;
    *r = (struct result){ .h = h };
    body_pass_start(&r->pass, h);
    const struct geometry *g = &r->pass.geometry;
    if (g->pages > SIZE_MAX / 4)
        return BLOOMFILE_ETOOBIG;
    if (!live && (r->checksums = malloc((size_t)g->pages * 4)) == NULL)
        return ENOMEM;
    int error = publish_open(&r->publication, path, flags, &r->fd);
    return error != 0 ? error : publish_allocate(r->fd, g->image_size, live);
}

int result_put(struct result *r, const uint8_t *pages, size_t size)
{
    for (size_t at = 0; r->checksums != NULL && at < size; at += CHECKSUM_PAGE) {
        uint8_t *entry = r->checksums + 4 * r->pass.page;
        put32(entry, body_pass_page(&r->pass, pages + at));
    }
    int error = map_write(r->fd, r->h->body_offset + r->at, pages, size);
    r->at += size;
    return error;
}

void result_record(const struct result *r, struct record *record)
{
    image_record(record, r->pass.sum.crc, &r->pass.tally);
}

static int write_checksums(struct result *r, uint32_t body_crc)
{
    const uint64_t pages = r->pass.geometry.pages;
    image_bind_checksums(r->checksums, pages, body_crc);
    return map_write(r->fd, r->h->body_offset + r->h->body_size, r->checksums, 4 * (size_t)pages);
}

int result_finish(struct result *r, struct header *h)
{
    uint8_t bytes[HEADER_MAX];
    int error = image_encode(h, bytes);
    if (error == 0 && r->checksums != NULL)
        error = write_checksums(r, h->record.body_crc);
    if (error == 0)
        error = map_write(r->fd, 0, bytes, h->header_size);
    if (error != 0)
        return error;
    struct publication *complete = r->publication;
    r->publication = NULL;
    return publish_finish(complete);
}

void result_abandon(struct result *r)
{
    publish_abandon(r->publication);
    free(r->checksums);
}
