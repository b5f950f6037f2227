/* SPDX-License-Identifier: MIT
 * Folds, unions, intersections and projections of filters. */
#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "combine/combine.h"
#include "format/invalid.h"
#include "format/versioned_struct.h"
#include "image/body.h"
#include "image/new_image.h"
#include "image/params.h"
#include "sizing/sizing.h"

int bloomfile_fold(struct bloomfile_destination *given, const bloomfile_filter *src,
                   uint64_t factor, const struct bloomfile_metadata *metadata)
{
    struct destination to;
    struct bloomfile_metadata m;
    struct combine_part part;
    struct combination c = { .parts = &part, .settle = combine_estimate };
    int error = destination_take(&to, given);
    if (error == 0)
        error = metadata_take(&m, metadata);
    if (error == 0)
        error = header_refuse_partial(&src->header);
    if (error != 0)
        return error;
    if (factor != 1 && layout_of(src->header.layout)->solved)
        return BLOOMFILE_EISRIBBON;
    if (factor == 0 || src->view.units % factor != 0)
        return BLOOMFILE_EFACTOR;
    error = source_describe(src, &c.h);
    if (error == 0)
        error = source_destination(&to, &src, 1);
    if (error == 0)
        error = combine_add(&c, src, factor);
    if (error == 0) {
        metadata_put(&c.h, &m);
        c.h.record.state = BLOOMFILE_STATE_SEALED;
        c.h.m /= factor;
        error = combine_make(&c, to);
    }
    combine_release(&c);
    return error;
}

/* ---- unions and intersections */

#define PARAMS_LEAST VERSIONED_LEAST(struct bloomfile_merge_params, metadata)

int bloomfile_check_merge(const bloomfile_filter *a, const bloomfile_filter *b)
{
    int error = header_refuse_partial(&a->header);
    if (error == 0)
        error = header_refuse_partial(&b->header);
    if (error != 0)
        return error;
    error = combine_compatible(&a->header, &b->header);
    if (error == 0)
        error = header_compare_keys(a->header.key_kind, b->header.key_kind);
    return error == 0 && layout_of(a->header.layout)->solved ? BLOOMFILE_EISRIBBON : error;
}

static int take_merge_params(struct bloomfile_merge_params *p, struct bloomfile_metadata *m,
                             const struct bloomfile_merge_params *given)
{
    *p = BLOOMFILE_MERGE_PARAMS_INIT;
    if (given != NULL && !versioned_take(p, sizeof *p, given, given->struct_size, PARAMS_LEAST))
        return invalid(BLOOMFILE_ESTRUCTSIZE, "struct_size");
    if (p->op == 0)
        p->op = BLOOMFILE_MERGE_UNION;
    if (p->op > BLOOMFILE_MERGE_INTERSECTION || p->reserved != 0)
        return invalid(BLOOMFILE_EVALUE, p->reserved != 0 ? "reserved" : "op");
    if (p->keys > GEOMETRY_MAX_CAPACITY)
        return invalid(BLOOMFILE_EVALUE, "keys");
    if (!(p->max_fpr >= 0 && p->max_fpr <= 1))
        return invalid(BLOOMFILE_EVALUE, "max_fpr");
    return metadata_take(m, p->metadata);
}

static uint64_t greatest_common_divisor(uint64_t a, uint64_t b)
{
    while (b != 0) {
        uint64_t rest = a % b;
        a = b;
        b = rest;
    }
    return a;
}

static bool source_has_keys(const struct header *h)
{
    return h->record.n != 0 || (h->record.flags & RECORD_N_ESTIMATED) != 0;
}

/* Adds a source to the header of the result. h->key_kind is the first known kind of the sources, so
 * sources of two different kinds are refused even if a source of unknown kind is between them. */
static int describe_also(struct header *h, const struct header *source)
{
    const int error = header_compare_keys(h->key_kind, source->key_kind);
    if (error != 0)
        return error;
    if (h->key_kind == BLOOMFILE_KEYS_UNKNOWN)
        h->key_kind = source->key_kind;
    h->m = greatest_common_divisor(h->m, source->m);
    h->provenance |= source->provenance;
    h->capacity = source->capacity > h->capacity ? source->capacity : h->capacity;
    h->fpr = source->fpr > h->fpr ? source->fpr : h->fpr;
    if (source_has_keys(h) && source_has_keys(source))
        h->record.flags |= RECORD_N_ESTIMATED;
    else if (source_has_keys(source))
        h->record = source->record;
    return 0;
}

static int describe_merged(struct header *h, const bloomfile_filter *const *srcs, size_t count,
                           const struct bloomfile_merge_params *p,
                           const struct bloomfile_metadata *m)
{
    int error = header_refuse_partial(&srcs[0]->header);
    if (error == 0 && layout_of(srcs[0]->header.layout)->solved)
        error = BLOOMFILE_EISRIBBON;
    if (error == 0)
        error = source_describe(srcs[0], h);
    for (size_t i = 1; error == 0 && i < count; i++) {
        struct header source;
        error = bloomfile_check_merge(srcs[0], srcs[i]);
        if (error == 0)
            error = source_describe(srcs[i], &source);
        if (error == 0)
            error = describe_also(h, &source);
    }
    if (error != 0)
        return error;
    for (size_t i = 0; i < count; i++)
        if (srcs[i]->header.key_kind == BLOOMFILE_KEYS_UNKNOWN)
            h->key_kind = BLOOMFILE_KEYS_UNKNOWN;
    if (p->op == BLOOMFILE_MERGE_INTERSECTION && layout_of(h->layout)->counts)
        return BLOOMFILE_EISCOUNTING;
    const bool intersection = p->op == BLOOMFILE_MERGE_INTERSECTION;
    h->provenance |= intersection ? BLOOMFILE_PROVENANCE_INTERSECTION : BLOOMFILE_PROVENANCE_UNION;
    h->m_unfolded = h->m;
    memset(h->label, 0, sizeof h->label);
    memset(h->tag, 0, sizeof h->tag);
    memset(h->record.watermark, 0, sizeof h->record.watermark);
    metadata_put(h, m);
    h->record.state = BLOOMFILE_STATE_SEALED;
    if (count > 1 && intersection)
        h->record.flags |= RECORD_N_ESTIMATED;
    if (p->keys != 0) {
        h->record.n = p->keys;
        h->record.flags &= ~RECORD_N_ESTIMATED;
    }
    return 0;
}

static int settle_union(struct combination *c, const struct kernel_tally *tally)
{
    struct header *h = &c->h;
    if ((h->record.flags & RECORD_N_ESTIMATED) != 0)
        image_estimate_keys(h);
    if (c->max_fpr == 0)
        return 0;
    const struct sizing *sizing = sizing_of(h->layout);
    double fpr = sizing->measured(h->m, h->k, tally->ones, tally->blocks);
    double error = sizing->standard_error(h->m, h->k, tally->ones, tally->blocks);
    return fpr - 3 * error > c->max_fpr ? BLOOMFILE_EOVERRATE : 0;
}

static int settle_intersection(struct combination *c, const struct kernel_tally *tally)
{
    (void)tally;
    struct record *r = &c->h.record;
    if ((r->flags & RECORD_N_ESTIMATED) == 0)
        return 0;
    double *fill = malloc(c->count * sizeof *fill);
    if (fill == NULL)
        return ENOMEM;
    const double m = (double)c->h.m;
    for (size_t i = 0; i < c->count; i++)
        fill[i] = (double)c->parts[i].ones / m;
    double common = sizing_common_fill(fill, c->count, (double)r->ones / m);
    free(fill);
    const uint64_t ones = r->ones;
    r->ones = (uint64_t)(common * m);
    image_estimate_keys(&c->h);
    r->ones = ones;
    return 0;
}

static int combine(struct combination *c, struct destination to,
                   const bloomfile_filter *const *srcs, size_t count)
{
    int error = 0;
    for (size_t i = 0; error == 0 && i < count; i++) {
        uint64_t factor = srcs[i]->header.m / c->h.m;
        error = combine_add(c, srcs[i], factor);
    }
    if (error == 0)
        error = combine_make(c, to);
    combine_release(c);
    return error;
}

int bloomfile_merge(struct bloomfile_destination *given, const bloomfile_filter *const *srcs,
                    size_t count, const struct bloomfile_merge_params *params)
{
    struct destination to;
    struct bloomfile_merge_params p;
    struct bloomfile_metadata m;
    struct combination c = { .count = 0 };
    int error = count == 0 ? invalid(BLOOMFILE_EVALUE, "count") : take_merge_params(&p, &m, params);
    if (error == 0)
        error = destination_take(&to, given);
    if (error == 0)
        error = describe_merged(&c.h, srcs, count, &p, &m);
    if (error == 0)
        error = source_destination(&to, srcs, count);
    if (error != 0)
        return error;
    c.intersect = p.op == BLOOMFILE_MERGE_INTERSECTION;
    c.keys_told = p.keys != 0;
    c.settle = c.intersect ? settle_intersection : settle_union;
    c.max_fpr = p.max_fpr != 0 ? p.max_fpr : c.h.fpr;
    c.parts = calloc(count, sizeof *c.parts);
    if (c.parts == NULL)
        return ENOMEM;
    error = combine(&c, to, srcs, count);
    free(c.parts);
    return error;
}

/* ---- the classic filter of a counting filter */

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
        source_stretch(s, stretch, size);
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

int bloomfile_project(struct bloomfile_destination *given, const bloomfile_filter *f,
                      const struct bloomfile_metadata *metadata)
{
    const uint32_t projection = layout_of(f->header.layout)->projection;
    struct destination to;
    struct bloomfile_metadata m;
    struct header h;
    struct source s;
    struct new_image r = { 0 };
    int error = destination_take(&to, given);
    if (error == 0)
        error = metadata_take(&m, metadata);
    if (error == 0 && projection == 0)
        error = BLOOMFILE_ENOTCOUNTING;
    if (error == 0)
        error = source_describe(f, &h);
    if (error == 0)
        error = source_destination(&to, &f, 1);
    if (error != 0)
        return error;
    metadata_put(&h, &m);
    h.record.state = BLOOMFILE_STATE_SEALED;
    h.layout = projection;
    h.provenance |= BLOOMFILE_PROVENANCE_PROJECTION;
    error = source_start(&s, f);
    if (error == 0)
        error = new_image_start(&r, &h, to);
    if (error == 0)
        error = make_projection(&s, &r, &h);
    new_image_abandon(&r);
    source_release(&s);
    return error;
}
