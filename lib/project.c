/* SPDX-License-Identifier: MIT
 * The classic filter of a counting one. */
#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "combine/source.h"
#include "image/image.h"
#include "image/new_image.h"

static size_t whole_pages(size_t size)
{
    return (size + CHECKSUM_PAGE - 1) / CHECKSUM_PAGE * CHECKSUM_PAGE;
}

static int put_projection(struct source *s, struct new_image *r)
{
    const uint64_t need = s->f->geometry.need;
    uint8_t *stretch = malloc(SOURCE_STRETCH + SOURCE_STRETCH / 4), *bits = NULL;
    int error = stretch == NULL ? ENOMEM : source_status(s);
    if (error == 0)
        bits = stretch + SOURCE_STRETCH;
    while (error == 0 && s->at < need) {
        const size_t size = source_next(s, need);
        memset(bits, 0, SOURCE_STRETCH / 4);
        source_take(s, stretch, size);
        s->f->kernel->project(bits, stretch, size);
        error = new_image_put(r, bits, whole_pages((size + 3) / 4));
        if (error == 0)
            error = source_status(s);
    }
    free(stretch);
    return error != 0 ? error : source_verdict(s);
}

static int make_projection(struct source *s, struct new_image *r, struct header *h)
{
    int error = put_projection(s, r);
    if (error != 0)
        return error;
    new_image_record(r, &h->record);
    struct header now; /* a live source may have gained keys while it was read */
    if (source_describe(s->f, &now) != 0 || now.record.n != h->record.n ||
        (now.record.flags & RECORD_N_ESTIMATED) != 0)
        h->record.flags |= RECORD_N_ESTIMATED;
    if (s->f->live != NULL && (h->record.flags & RECORD_N_ESTIMATED) != 0)
        image_estimate_keys(h);
    return new_image_finish(r, h);
}

static int project(struct destination to, const bloomfile *f)
{
    const uint32_t projection = layout_of(f->header.layout)->projection;
    if (projection == 0)
        return BLOOMFILE_ENOTCOUNTING;
    struct header h;
    struct source s;
    struct new_image r = { 0 };
    int error = source_describe(f, &h);
    if (error == 0)
        error = source_destination(&to, &f, 1);
    if (error != 0)
        return error;
    h.record.state = BLOOMFILE_SEALED;
    h.layout = projection;
    h.provenance |= BLOOMFILE_FROM_PROJECTION;
    error = source_start(&s, f);
    if (error == 0)
        error = new_image_start(&r, &h, to);
    if (error == 0)
        error = make_projection(&s, &r, &h);
    new_image_abandon(&r);
    source_release(&s);
    return error;
}

int bloomfile_project(const char *path, const bloomfile *f, unsigned flags)
{
    return project(new_image_to_file(path, flags), f);
}

int bloomfile_project_fd(int fd, const bloomfile *f, const char *spool)
{
    return project(new_image_to_fd(fd, spool), f);
}

int bloomfile_project_memory(void **image, size_t *size, const bloomfile *f)
{
    return project(new_image_to_memory(image, size), f);
}
