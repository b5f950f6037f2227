/* SPDX-License-Identifier: MIT
 *
 * Applying a patch. Threads take its content in order: runs of unchanged pages, and parts. A thread
 * copies a stretch of the base, checks it, changes the copy, and writes it with its page checksums,
 * which include the body_crc that the patch names. At the end that body_crc is compared with the
 * actual CRC.
 */
#include "delta/patch.h"

#include <bloomfile_delta.h>
#include <bloomfile_inspect.h>
#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

#include "delta/changes.h"
#include "format/decode.h"
#include "format/min.h"
#include "image/body.h"
#include "live/file_change.h"
#include "os/file.h"
#include "os/thread.h"
#include "series/series.h"

#define STRETCH       64u  /* pages that a thread copies before it changes and writes them */
#define UNCHANGED     256u /* unchanged pages that a thread takes in one step */
#define STRETCH_BYTES ((size_t)STRETCH * CHECKSUM_PAGE)

struct apply_work {
    const bloomfile_filter *base;
    const struct changes *changes;
    enum cells_kind kind;
    uint64_t pages;
    struct patch_head head;
    uint8_t bytes[HEADER_MAX]; /* the header of the result */
    struct header result;
    int fd;
    uint64_t at;                 /* offset of the result in the file */
    uint32_t features;           /* features that the patch must have */
    const struct header *before; /* for a series: header of the previous layer of the result */
    pthread_mutex_t lock;        /* protects the members below */
    struct input *in;
    uint64_t page, unchanged; /* the next page; the number of unchanged pages from it on */
    bool in_part; /* a part follows these pages; otherwise the next number of unchanged pages */
    bool ended;
    int error;
    struct body_check check; /* check of the base */
    struct body_pass pass;   /* checksums and counts of the result */
};

/* The pages that a thread takes at a time. */
struct share {
    uint64_t page, count;
    struct part part; /* has no units if nothing changes */
    uint8_t *strings; /* room for the strings of a part */
    size_t size;
    uint32_t crc_so_far, crc; /* CRC of the part's head; the part's CRC in the patch */
};

/* The memory of a thread. */
struct hands {
    struct apply_work *work;
    uint8_t *copy; /* the copy of a stretch */
    uint8_t entries[STRETCH * 4];
    struct body_check check;
    struct body_pass pass;
    struct changes_stream streams[CELLS_CHANGES];
};

/* ---- taking shares, one thread at a time */

static int take_unchanged(struct apply_work *w, struct share *share)
{
    share->page = w->page;
    share->count = MIN(w->unchanged, UNCHANGED);
    memset(&share->part, 0, sizeof share->part);
    w->page += share->count;
    w->unchanged -= share->count;
    return 0;
}

static int take_part_of_input(struct apply_work *w, struct share *share)
{
    int error = input_part(w->in, w->kind, w->pages - w->page, &share->part);
    if (error != 0)
        return error;
    share->page = w->page;
    share->count = share->part.span;
    share->crc_so_far = w->in->crc;
    share->size = part_size(&share->part);
    w->page += share->count;
    w->in_part = false;
    return input_strings(w->in, share->strings, share->size, &share->crc);
}

/* Takes the next share. share->count is 0 if all pages are taken. */
static int take_next(struct apply_work *w, struct share *share)
{
    share->count = 0;
    if (w->unchanged == 0 && !w->in_part && !w->ended) {
        int error = input_skip(w->in, &w->unchanged);
        if (error == 0 && w->unchanged > w->pages - w->page)
            error = BLOOMFILE_EPATCH;
        if (error != 0)
            return error;
        w->ended = w->unchanged == w->pages - w->page;
        w->in_part = !w->ended;
        if (w->ended && (w->features & PATCH_FOLLOWED) == 0)
            error = input_end(w->in);
        if (error != 0)
            return error;
    }
    if (w->unchanged > 0)
        return take_unchanged(w, share);
    return w->in_part ? take_part_of_input(w, share) : 0;
}

static bool take_share(struct apply_work *w, struct share *share)
{
    pthread_mutex_lock(&w->lock);
    if (w->error == 0)
        w->error = cancel_wanted();
    if (w->error == 0)
        w->error = take_next(w, share);
    const bool taken = w->error == 0 && share->count > 0;
    pthread_mutex_unlock(&w->lock);
    return taken;
}

/* ---- the changes of a part */

static bool start_streams(struct hands *h, const struct share *share)
{
    uint64_t at = 0;
    if (share->part.span > 0 &&
        checksum_more(share->crc_so_far, share->strings, share->size) != share->crc)
        return false;
    for (unsigned i = 0; i < CELLS_CHANGES; i++) {
        const struct part_stream *from = &share->part.streams[i];
        struct changes_stream *s = &h->streams[i];
        *s = (struct changes_stream){ .bits = { .bytes = share->strings, .at = 8 * at },
                                      .units = from->units,
                                      .gap_bits = from->gap_bits,
                                      .count_bits = from->count_bits,
                                      .typical = from->typical };
        at += from->size;
        s->bits.end = 8 * at;
        s->skip = from->units > 0 ? bits_get_rice(&s->bits, s->gap_bits) : 0;
    }
    return true;
}

static bool streams_ended(const struct hands *h, const struct share *share)
{
    for (unsigned i = 0; i < CELLS_CHANGES; i++)
        if (share->part.streams[i].units > 0 &&
            (h->streams[i].units > 0 || !bits_at_end(&h->streams[i].bits)))
            return false;
    return true;
}

static bool change_page(struct hands *h, const uint8_t *old, uint8_t *copy, size_t size)
{
    const struct apply_work *w = h->work;
    for (unsigned i = 0; i < CELLS_CHANGES; i++) {
        if (h->streams[i].units == 0)
            continue;
        w->changes->make(w->kind, i, old, copy, size, &h->streams[i]);
        if (h->streams[i].bits.wrong)
            return false;
    }
    return true;
}

/* ---- a stretch, page by page, while each page is in the cache */

static int do_page(struct hands *h, uint64_t page, uint8_t *copy, uint8_t *entry)
{
    const struct apply_work *w = h->work;
    _Alignas(CELLS_UNIT_SIZE) uint8_t old[CHECKSUM_PAGE];
    const size_t size = checksum_page_size(w->result.body_size, page);
    body_check_copy(&h->check, copy, 1);
    if (h->check.first_bad != UINT64_MAX)
        return BLOOMFILE_EPAGE;
    memcpy(old, copy, size);
    if (!change_page(h, old, copy, size))
        return BLOOMFILE_EPATCH;
    put32(entry, body_pass_page(&h->pass, copy, copy) ^ w->head.result.body);
    return page + 1 == w->pages && !body_last_page_is_clean(&w->result, copy) ? BLOOMFILE_EPATCH
                                                                              : 0;
}

static int do_stretch(struct hands *h, uint64_t page, uint64_t count)
{
    const struct apply_work *w = h->work;
    const uint64_t body = w->at + w->result.body_offset, at = body + page * CHECKSUM_PAGE;
    const uint64_t end = body + w->result.body_size, left = end - at;
    const size_t size = left < count * CHECKSUM_PAGE ? (size_t)left : (size_t)count * CHECKSUM_PAGE;
    int error = 0;
    for (uint64_t i = 0; error == 0 && i < count; i++)
        error = do_page(h, page + i, h->copy + i * CHECKSUM_PAGE, h->entries + 4 * i);
    if (error == 0)
        error = file_write(w->fd, at, h->copy, size);
    return error == 0 ? file_write(w->fd, end + 4 * page, h->entries, 4 * (size_t)count) : error;
}

static int do_share(struct hands *h, const struct share *share)
{
    if (!start_streams(h, share))
        return BLOOMFILE_EPATCH;
    body_check_skip(&h->check, share->page);
    body_pass_skip(&h->pass, share->page);
    int error = 0;
    for (uint64_t done = 0; error == 0 && done < share->count; done += STRETCH)
        error = do_stretch(h, share->page + done, MIN(share->count - done, STRETCH));
    return error == 0 && !streams_ended(h, share) ? BLOOMFILE_EPATCH : error;
}

/* ---- a thread */

static void start_passes(const struct apply_work *w, struct body_check *check,
                         struct body_pass *pass)
{
    body_check_start(check, &w->base->header, w->base->view.body, w->base->guard);
    body_pass_start(pass, &w->result);
}

static void finish(struct hands *h, int error)
{
    struct apply_work *w = h->work;
    body_check_skip(&h->check, w->pages);
    body_pass_skip(&h->pass, w->pages);
    pthread_mutex_lock(&w->lock);
    body_check_join(&w->check, &h->check);
    body_pass_join(&w->pass, &h->pass);
    if (w->error == 0)
        w->error = error;
    pthread_mutex_unlock(&w->lock);
}

static void work(void *context)
{
    struct hands h = { .work = context };
    struct share share = { .count = 0 };
    start_passes(h.work, &h.check, &h.pass);
    h.copy = aligned_alloc(CHECKSUM_PAGE, STRETCH_BYTES);
    share.strings = calloc(PART_STRINGS_MOST + BITS_SLACK, 1);
    int error = h.copy == NULL || share.strings == NULL ? ENOMEM : 0;
    while (error == 0 && take_share(h.work, &share))
        error = do_share(&h, &share);
    free(h.copy);
    free(share.strings);
    finish(&h, error);
}

/* ---- the whole */

/* Returns whether the body agrees with the header, as bloomfile_verify() checks it. */
static bool result_is_whole(const struct apply_work *w)
{
    const struct record *r = &w->result.record;
    return w->pass.sum.crc == r->body_crc && w->pass.tally.ones == r->ones &&
           w->pass.tally.overflow == r->overflow;
}

static int make_body(struct apply_work *w, unsigned threads)
{
    start_passes(w, &w->check, &w->pass);
    team_run(team_size(threads, w->pages / STRETCH), work, w);
    if (w->check.first_bad == UINT64_MAX && w->error != 0)
        return w->error;
    int error = body_check_end(&w->check, NULL);
    const int status = changed_or_damaged(w->base);
    if (error == 0 || status == BLOOMFILE_ECHANGED)
        error = status;
    return error == 0 && !result_is_whole(w) ? BLOOMFILE_EPATCH : error;
}

static int make_image(struct apply_work *w, unsigned threads)
{
    int error = make_body(w, threads);
    return error != 0 ? error : file_write(w->fd, w->at, w->bytes, w->result.header_size);
}

static bool same_shape(const struct header *a, const struct header *b)
{
    return a->layout == b->layout && a->m == b->m && a->header_size == b->header_size &&
           a->k == b->k && a->seed == b->seed && a->hash_id == b->hash_id &&
           a->self_test == b->self_test && header_is_layer(a) == header_is_layer(b) &&
           header_same_place(a, b);
}

/* Returns whether the result is the same layer of its series as the base. */
static bool has_its_place(const struct apply_work *w, const struct header *base)
{
    const struct header *h = &w->result;
    if (!header_is_layer(base))
        return true;
    return h->layers == base->layers && h->layer == base->layer &&
           (w->before == NULL ? h->link == 0 : series_is_next(w->before, h));
}

/* Checks that the base is the filter that the patch names, and makes the header of the result. */
static int make_result_header(struct apply_work *w)
{
    const struct header *base = &w->base->header;
    const uint32_t size = base->header_size;
    uint8_t bytes[HEADER_MAX];
    memcpy(bytes, w->base->map.bytes, size);
    if (!header_is_still(base, bytes))
        return BLOOMFILE_ECHANGED;
    if (w->head.base.header != patch_name_header(bytes, size) ||
        w->head.base.body != base->record.body_crc || w->head.features != w->features)
        return BLOOMFILE_EDIFFERENTBASE;
    if (w->head.layout != base->layout || w->head.body_size != base->body_size)
        return BLOOMFILE_EPATCH;
    int error = patch_apply_edits(&w->head, bytes, w->bytes, size);
    if (error != 0)
        return error;
    struct header_faults faults = { .list = NULL };
    decode_header(w->bytes, header_whole_size(base), &w->result, &faults);
    const bool sound = faults.first == 0 && w->result.record.state == BLOOMFILE_STATE_SEALED &&
                       w->result.record.body_crc == w->head.result.body;
    return sound && same_shape(base, &w->result) && has_its_place(w, base) ? 0 : BLOOMFILE_EPATCH;
}

struct apply_target {
    struct destination to;
    struct publication *publication; /* NULL before it begins and after it ends */
    int fd;
    uint64_t whole, at;
    struct header before; /* for a series: the layer made last */
};

/* Creates the file, once the first base is known to be the right filter. */
static int begin_target(struct apply_target *t)
{
    if (t->publication != NULL)
        return 0;
    return new_image_publication(&t->publication, &t->to, t->whole, false, &t->fd);
}

static int apply_one(struct apply_target *t, const bloomfile_filter *base, uint32_t features,
                     struct input *in, unsigned threads)
{
    struct apply_work w = { .base = base,
                            .changes = changes_best(),
                            .kind = part_kind(base->header.layout),
                            .pages = base->geometry.pages,
                            .in = in,
                            .at = t->at,
                            .features = features,
                            .before = t->at > 0 ? &t->before : NULL,
                            .lock = PTHREAD_MUTEX_INITIALIZER };
    input_restart(in);
    int error = input_head(in, &w.head);
    if (error == 0)
        error = make_result_header(&w);
    if (error == 0)
        error = begin_target(t);
    if (error != 0)
        return error;
    w.fd = t->fd;
    map_expect(&base->map, MAP_SCAN);
    error = make_image(&w, threads);
    map_expect(&base->map, MAP_LOOKUPS);
    t->at += header_layer_stride(&base->header);
    t->before = w.result;
    return error;
}

int apply_patch(struct destination to, bloomfile_filter *const *base, size_t count, bool series,
                struct input *in, unsigned threads)
{
    struct apply_target t = { .to = to, .whole = header_whole_size(&base[0]->header) };
    int error = 0;
    for (size_t i = 0; i < count && error == 0; i++) {
        const uint32_t followed = i + 1 < count ? PATCH_FOLLOWED : 0;
        error = apply_one(&t, base[i], series ? PATCH_OF_LAYER | followed : 0, in, threads);
    }
    if (error == 0)
        return publish_finish(t.publication);
    publish_abandon(t.publication);
    return error;
}
