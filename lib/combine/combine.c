/* SPDX-License-Identifier: MIT
 * New filters from others, piece by piece: each source is folded into a piece of the result, which
 * is then counted and written. */
#include "combine/combine.h"

#include <bloomfile_inspect.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "combine/source.h"
#include "format/hash.h"
#include "format/probe.h"
#include "handle/file_change.h"
#include "image/image.h"
#include "kernel/dispatch.h"

#define PIECE SOURCE_STRETCH /* bytes of the result, in cache */

/* Folds the source's share of the next `units` units of the result into `to`. A page at a time,
 * which stays in the nearest cache: copying stretches of 64 KiB took six times as long. */
static void fold_piece(struct combine_part *part, uint32_t layout, uint8_t *to, uint64_t units)
{
    _Alignas(PROBE_BLOCK_BYTES) uint8_t page[CHECKSUM_PAGE];
    const struct kernel *kernel = kernel_for(layout);
    const uint64_t most = geometry_units_in(layout, sizeof page);
    const uint64_t count = units * part->factor;
    for (uint64_t first = 0; first < count;) {
        const uint64_t n = count - first < most ? count - first : most;
        source_take(&part->source, page, (size_t)geometry_bytes_of(layout, n));
        kernel->fold(to, page, first, n, part->factor);
        first += n;
    }
}

/* The first source of a union: one that is not folded needs no buffer of its own. */
static void begin_piece(struct combine_part *part, uint32_t layout, uint8_t *piece, uint64_t units)
{
    const size_t used = (size_t)geometry_bytes_of(layout, units);
    if (part->factor == 1) {
        source_take(&part->source, piece, used);
        memset(piece + used, 0, PIECE - used);
    } else {
        memset(piece, 0, PIECE);
        fold_piece(part, layout, piece, units);
    }
}

static void intersect_piece(struct combine_part *part, uint32_t layout, uint8_t *to,
                            uint8_t *scratch, uint64_t units)
{
    struct kernel_tally tally = { 0 };
    memset(scratch, 0, PIECE);
    fold_piece(part, layout, scratch, units);
    kernel_for(layout)->tally(scratch, (size_t)geometry_bytes_of(layout, units), &tally);
    part->ones += tally.ones;
    for (size_t i = 0; i < PIECE; i++)
        to[i] &= scratch[i];
}

static int put_pieces(struct new_image *r, struct combination *c, uint8_t *piece)
{
    const uint32_t layout = r->h->layout;
    const uint64_t all = r->pass.geometry.units, most = geometry_units_in(layout, PIECE);
    for (uint64_t done = 0, units; done < all; done += units) {
        units = all - done < most ? all - done : most;
        if (c->intersect)
            memset(piece, 0xFF, PIECE);
        for (size_t i = 0; i < c->count; i++) {
            if (c->intersect)
                intersect_piece(&c->parts[i], layout, piece, piece + PIECE, units);
            else if (i == 0)
                begin_piece(&c->parts[i], layout, piece, units);
            else
                fold_piece(&c->parts[i], layout, piece, units);
            int error = source_status(&c->parts[i].source);
            if (error != 0)
                return error;
        }
        const size_t used = (size_t)geometry_bytes_of(layout, units);
        int error =
            new_image_put(r, piece, (used + CHECKSUM_PAGE - 1) / CHECKSUM_PAGE * CHECKSUM_PAGE);
        if (error != 0)
            return error;
    }
    return 0;
}

int combine_add(struct combination *c, const bloomfile *f, uint64_t factor)
{
    struct combine_part *part = &c->parts[c->count++];
    part->factor = factor;
    return source_start(&part->source, f);
}

/* Keys that a live source gained while it was read may be in the body and are not in n. */
static bool keys_were_added(const struct combination *c)
{
    uint64_t keys = 0;
    for (size_t i = 0; i < c->count; i++) {
        struct header now;
        if (source_describe(c->parts[i].source.f, &now) != 0 ||
            (now.record.flags & RECORD_N_ESTIMATED) != 0)
            return true;
        keys += now.record.n;
    }
    return keys != c->h.record.n;
}

static int make(struct combination *c, struct new_image *r)
{
    uint8_t *pieces = aligned_alloc(CHECKSUM_PAGE, 2 * PIECE);
    if (pieces == NULL)
        return ENOMEM;
    int error = put_pieces(r, c, pieces);
    free(pieces);
    for (size_t i = 0; error == 0 && i < c->count; i++)
        error = source_verdict(&c->parts[i].source);
    if (error != 0)
        return error;
    new_image_record(r, &c->h.record);
    if ((c->h.record.flags & RECORD_N_ESTIMATED) == 0 && !c->keys_told && keys_were_added(c))
        c->h.record.flags |= RECORD_N_ESTIMATED;
    error = c->settle(c, &r->pass.tally);
    return error != 0 ? error : new_image_finish(r, &c->h);
}

int combine_make(struct combination *c, struct destination to)
{
    struct new_image r;
    int error = new_image_start(&r, &c->h, to);
    if (error == 0)
        error = make(c, &r);
    new_image_abandon(&r);
    return error;
}

void combine_release(struct combination *c)
{
    for (size_t i = 0; i < c->count; i++)
        source_release(&c->parts[i].source);
}

int combine_estimate(struct combination *c, const struct kernel_tally *tally)
{
    (void)tally;
    const bool live = c->parts[0].source.f->live != NULL;
    if (live && (c->h.record.flags & RECORD_N_ESTIMATED) != 0)
        image_estimate_keys(&c->h);
    return 0;
}

int combine_copy(struct header *h, const bloomfile *f, struct destination to)
{
    struct combine_part part;
    struct combination c = { .h = *h, .parts = &part, .settle = combine_estimate };
    c.h.record.state = BLOOMFILE_SEALED;
    int error = combine_add(&c, f, 1);
    if (error == 0)
        error = combine_make(&c, to);
    combine_release(&c);
    *h = c.h;
    return error;
}

int combine_compatible(const struct header *x, const struct header *y)
{
    if (x->layout != y->layout)
        return BLOOMFILE_EDIFFERENTLAYOUT;
    if (x->hash_id != y->hash_id ||
        (hash_is_applications(x->hash_id) && x->self_test != y->self_test))
        return BLOOMFILE_EDIFFERENTHASH;
    if (x->k != y->k)
        return BLOOMFILE_EDIFFERENTHASHES;
    return x->seed == y->seed ? 0 : BLOOMFILE_EDIFFERENTSEED;
}

/* ---- The body is copied as it is; the record tells what is known of it. */

/* Each byte of a boot identity that no boot has: it makes the file unclean. */
#define NO_BOOT 0xFF

/* `doubtful`: pages may have been dropped, and no verdict is asked for. */
static int make_rescue(struct source *s, struct new_image *r, struct header *h, bool doubtful)
{
    uint8_t *stretch = malloc(SOURCE_STRETCH);
    int error = stretch == NULL ? ENOMEM : 0;
    while (error == 0 && s->at < h->body_size) {
        const size_t size = source_next(s, h->body_size);
        source_take(s, stretch, size);
        error = new_image_put(r, stretch, size);
    }
    free(stretch);
    if (error == 0 && !doubtful)
        error = source_verdict(s);
    h->record.ones = s->tally.ones; /* bits that were counted may be lost */
    h->record.overflow = s->tally.overflow;
    return error != 0 ? error : new_image_finish(r, h);
}

int rescue(struct destination to, const bloomfile *f, uint64_t series, bool succeeded)
{
    struct header h;
    struct source s;
    struct new_image r = { 0 };
    bool unreadable = source_describe(f, &h) != 0; /* the page may be among those dropped */
    if (f->live == NULL || h.record.state == BLOOMFILE_SEALED)
        return BLOOMFILE_ESEALED;
    bool doubtful = unreadable || changed_or_damaged(f) != 0;
    h.series = series;
    h.record.state = BLOOMFILE_LIVE;
    h.record.sequence = 1;
    h.record.flags = RECORD_N_ESTIMATED | (succeeded ? RECORD_SUCCEEDED : 0);
    h.record.writers = 0;
    memset(h.record.boot_id, doubtful ? NO_BOOT : 0, sizeof h.record.boot_id);
    int error = source_start(&s, f);
    if (error == 0)
        error = new_image_start(&r, &h, to);
    if (error == 0)
        error = make_rescue(&s, &r, &h, doubtful);
    new_image_abandon(&r);
    source_release(&s);
    return error;
}
