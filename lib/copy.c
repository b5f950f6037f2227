/* SPDX-License-Identifier: MIT
 * New files of a filter that may be in use: projections and rescues. */
#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "combine/source.h"
#include "handle/changed.h"
#include "handle/live.h"
#include "image/image.h"
#include "image/new_image.h"
#include "kernel/fold.h"

/* In each byte of a boot identity: that of no boot, so that the file is unclean. */
#define NO_BOOT 0xFF

static size_t next_stretch(const struct source *s, uint64_t size)
{
    return size - s->at < SOURCE_STRETCH ? (size_t)(size - s->at) : SOURCE_STRETCH;
}

static size_t whole_pages(size_t size)
{
    return (size + CHECKSUM_PAGE - 1) / CHECKSUM_PAGE * CHECKSUM_PAGE;
}

static int put_projection(struct source *s, struct result *r)
{
    const uint64_t need = s->f->geometry.need;
    uint8_t *bits = malloc(SOURCE_STRETCH / 4);
    int error = bits == NULL ? ENOMEM : source_status(s);
    while (error == 0 && s->at < need) {
        const size_t size = next_stretch(s, need);
        memset(bits, 0, SOURCE_STRETCH / 4);
        kernel_project(bits, source_take(s, size), size);
        error = result_put(r, bits, whole_pages((size + 3) / 4));
        if (error == 0)
            error = source_status(s);
    }
    free(bits);
    return error != 0 ? error : source_verdict(s);
}

static int make_projection(struct source *s, struct result *r, struct header *h)
{
    int error = put_projection(s, r);
    if (error != 0)
        return error;
    result_record(r, &h->record);
    struct header now; /* a live source may have got keys while it was read */
    if (source_describe(s->f, &now) != 0 || now.record.n != h->record.n ||
        (now.record.flags & RECORD_N_ESTIMATED) != 0)
        h->record.flags |= RECORD_N_ESTIMATED;
    if (s->f->live != NULL && (h->record.flags & RECORD_N_ESTIMATED) != 0)
        image_estimate_keys(h);
    return result_finish(r, h);
}

static int project(struct destination to, const bloomfile *f)
{
    if (f->header.layout != BLOOMFILE_COUNTING)
        return BLOOMFILE_ENOTCOUNTING;
    struct header h;
    struct source s;
    struct result r = { 0 };
    int error = source_describe(f, &h);
    if (error != 0)
        return error;
    h.record.state = BLOOMFILE_SEALED;
    h.layout = BLOOMFILE_CLASSIC;
    h.provenance |= BLOOMFILE_FROM_PROJECTION;
    error = source_start(&s, f);
    if (error == 0)
        error = result_start(&r, &h, to);
    if (error == 0)
        error = make_projection(&s, &r, &h);
    result_abandon(&r);
    source_release(&s);
    return error;
}

int bloomfile_project(const char *path, const bloomfile *f, unsigned flags)
{
    return project(result_to_file(path, flags), f);
}

int bloomfile_project_fd(int fd, const bloomfile *f, const char *spool)
{
    return project(result_to_fd(fd, spool), f);
}

int bloomfile_project_memory(void **image, size_t *size, const bloomfile *f)
{
    return project(result_to_memory(image, size), f);
}

/* `doubtful`: pages may have been dropped, and nothing is expected of them. */
static int make_rescue(struct source *s, struct result *r, struct header *h, bool doubtful)
{
    int error = 0;
    while (error == 0 && s->at < h->body_size) {
        const size_t size = next_stretch(s, h->body_size);
        error = result_put(r, source_take(s, size), size);
    }
    if (error == 0 && !doubtful)
        error = source_verdict(s);
    return error != 0 ? error : result_finish(r, h);
}

int bloomfile_rescue(const char *dst, const bloomfile *f, unsigned flags)
{
    struct header h;
    struct source s;
    struct result r = { 0 };
    bool unreadable =
        source_describe(f, &h) != 0; /* the page may be among those that were dropped */
    if (f->live == NULL || h.record.state == BLOOMFILE_SEALED)
        return BLOOMFILE_ESEALED;
    bool doubtful = unreadable || changed_or_damaged(f) != 0;
    h.record.state = BLOOMFILE_LIVE;
    h.record.sequence = 1;
    h.record.flags = RECORD_N_ESTIMATED;
    h.record.writers = 0;
    memset(h.record.boot_id, doubtful ? NO_BOOT : 0, sizeof h.record.boot_id);
    int error = source_start(&s, f);
    if (error == 0)
        error = result_start(&r, &h, result_to_file(dst, flags));
    if (error == 0)
        error = make_rescue(&s, &r, &h, doubtful);
    result_abandon(&r);
    source_release(&s);
    return error;
}
