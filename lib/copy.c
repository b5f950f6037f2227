/* SPDX-License-Identifier: MIT
 * New files made of a filter that may be in use: sealed copies, projections, rescues. */
#include <string.h>

#include "body.h"
#include "image.h"
#include "live.h"
#include "publish.h"
#include "shared.h"

/* In each byte of a boot identity: that of no boot, so that the file is unclean. */
#define NO_BOOT 0xFF

/* Copies a body that others may be changing. */
static void copy_body(const bloomfile *f, uint8_t *to)
{
    const uint8_t *from = f->body;
    const uint64_t size = f->header.body_size;
    if (f->live == NULL) {
        memcpy(to, from, (size_t)size);
        return;
    }
    for (uint64_t at = 0; at < size; at += 8)
        put64(to + at, shared_load64(from + at));
}

/* A bit for each counter, set where it is above 0. */
static void project_body(const bloomfile *f, uint8_t *to)
{
    for (uint64_t j = 0; j < f->header.m; j++) {
        unsigned counter = shared_load8(f->body + j / 2) >> (4 * (j % 2)) & 15u;
        to[j / 8] |= (uint8_t)((counter > 0) << j % 8);
    }
}

/* The header of a new file, as the source's record tells; after an error, as it was. */
static int describe(const bloomfile *f, struct header *h)
{
    struct header now;
    uint32_t own = 0;
    *h = f->header;
    int error = f->live != NULL ? live_load(f, &now) : 0;
    if (f->live != NULL && error == 0)
        h->record = now.record;
    if (f->session != NULL) {
        struct kernel_change counted = session_counted(f->session);
        h->record = live_add_counts(h, h->record, &counted);
        own = atomic_load(&f->session->joined); /* a child of fork() may not have */
    }
    bool counted_by_others = h->record.writers > own;
    h->record.flags = counted_by_others ? RECORD_N_ESTIMATED : h->record.flags & RECORD_N_ESTIMATED;
    h->header_size = GEOMETRY_FILE_HEADER;
    h->compat = h->ro_compat = 0;
    h->provenance &= BLOOMFILE_FROM_INTERSECTION | BLOOMFILE_FROM_MERGE | BLOOMFILE_FROM_PROJECTION;
    image_describe(h);
    return error;
}

typedef void fill(const bloomfile *f, uint8_t *body);

/* Writes the image into the new file, through a mapping of it. */
static int write_image(int fd, const bloomfile *f, struct header *h, fill *fill_body)
{
    const uint64_t size = geometry_of(h->layout, h->m, h->header_size).image_size;
    struct map map;
    int error = publish_allocate(fd, size, true);
    if (error == 0)
        error = map_file(&map, fd, 0, size, true);
    if (error != 0)
        return error;
    map_expect(&f->map, MAP_SCAN);
    map_expect(&map, MAP_SCAN);
    uint8_t *image = map_bytes(&map);
    fill_body(f, image_body(h, image));
    const bool sealed = h->record.state == BLOOMFILE_SEALED;
    if (sealed)
        image_sum(h, image_body(h, image));
    if (sealed && f->live != NULL && (h->record.flags & RECORD_N_ESTIMATED) != 0)
        image_estimate_keys(h);
    header_encode(h, image);
    map_expect(&f->map, MAP_LOOKUPS);
    map_release(&map);
    return 0;
}

/* `check` has the last word on whether the copy is any good; NULL: it is. */
static int publish_copy(const char *path, const bloomfile *f, struct header *h, fill *fill_body,
                        int (*check)(const bloomfile *f), bool replace)
{
    struct publication *p;
    int fd, error = publish_start(&p, path, replace, &fd);
    if (error != 0)
        return error;
    error = write_image(fd, f, h, fill_body);
    if (error == 0 && check != NULL)
        error = check(f);
    if (error == 0)
        return publish_finish(p);
    publish_abandon(p);
    return error;
}

/* Whether all that was added to the source is in its body. */
static int check_source(const bloomfile *f)
{
    uint64_t offset;
    if (f->live == NULL)
        return bloomfile_verify(f, NULL);
    int error = bloomfile_status(f);
    bool clean = body_padding_is_clean(&f->header, f->body, &offset);
    return error != 0 || clean ? error : BLOOMFILE_EBODY;
}

/* Whether it was so all the time: a page that could not be written may have been dropped. */
static int check_again(const bloomfile *f)
{
    int error = f->live != NULL ? map_sync(&f->map, f->map.base_size) : 0;
    if (error != 0)
        guard_distrust(f->guard, BLOOMFILE_EPOISONED); /* the next msync would not tell */
    return error != 0 ? error : bloomfile_status(f);
}

static int seal_copy(const char *path, const bloomfile *f, struct header *h, fill *fill_body,
                     unsigned flags)
{
    int error = (flags & ~BLOOMFILE_REPLACE) != 0 ? BLOOMFILE_EPARAMS : check_source(f);
    if (error != 0)
        return error;
    h->record.state = BLOOMFILE_SEALED;
    return publish_copy(path, f, h, fill_body, check_again, (flags & BLOOMFILE_REPLACE) != 0);
}

int bloomfile_seal_to(const char *path, const bloomfile *f, unsigned flags)
{
    struct header h;
    int error = describe(f, &h);
    return error != 0 ? error : seal_copy(path, f, &h, copy_body, flags);
}

int bloomfile_project(const char *path, const bloomfile *f, unsigned flags)
{
    if (f->header.layout != BLOOMFILE_COUNTING)
        return BLOOMFILE_ENOTCOUNTING;
    struct header h;
    int error = describe(f, &h);
    if (error != 0)
        return error;
    h.layout = BLOOMFILE_CLASSIC;
    h.provenance |= BLOOMFILE_FROM_PROJECTION;
    image_describe(&h);
    return seal_copy(path, f, &h, project_body, flags);
}

int bloomfile_rescue(const bloomfile *f, const char *path)
{
    struct header h;
    bool unreadable = describe(f, &h) != 0; /* the page may be among those that were dropped */
    if (f->live == NULL || h.record.state == BLOOMFILE_SEALED)
        return BLOOMFILE_ESEALED;
    bool doubtful = unreadable || live_in_doubt(f);
    h.record.state = BLOOMFILE_LIVE;
    h.record.sequence = 1;
    h.record.flags = RECORD_N_ESTIMATED;
    h.record.writers = 0;
    memset(h.record.boot_id, doubtful ? NO_BOOT : 0, sizeof h.record.boot_id);
    return publish_copy(path, f, &h, copy_body, doubtful ? NULL : check_again, false);
}
