/* SPDX-License-Identifier: MIT
 * Making filters from existing filters, piece by piece. Each source is copied from its mapping,
 * checked, and folded into a piece of the result. A complete piece is counted and written. */
#include "combine/combine.h"

#include <bloomfile_inspect.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "format/hash.h"
#include "format/min.h"
#include "format/probe.h"
#include "image/body.h"
#include "kernel/dispatch.h"
#include "live/file_change.h"
#include "live/join.h"
#include "live/records.h"
#include "live/sync.h"
#include "os/host.h"
#include "publish/publish.h"

#define PIECE SOURCE_STRETCH /* bytes of a piece of the result, which stays in the cache */

/* Folds the part of the source that makes the next `units` units of the result into `to`. Copies
 * one page at a time, which stays in the L1 cache: with copies of 64 KiB it took six times as
 * long. */
static void fold_piece(struct combine_part *part, uint32_t layout, uint8_t *to, uint64_t units)
{
    _Alignas(PROBE_BLOCK_BYTES) uint8_t page[CHECKSUM_PAGE];
    const struct kernel *kernel = kernel_for(layout);
    const uint64_t most = geometry_units_in(layout, sizeof page);
    const uint64_t count = units * part->factor;
    for (uint64_t first = 0, n; (n = MIN(count - first, most)) > 0; first += n) {
        source_stretch(&part->source, page, (size_t)geometry_bytes_of(layout, n));
        kernel->fold(to, page, first, n, part->factor);
    }
}

/* Folds the first source of a union or, if the factor is 1, copies it directly to the piece. */
static void begin_piece(struct combine_part *part, uint32_t layout, uint8_t *piece, uint64_t units)
{
    const size_t used = (size_t)geometry_bytes_of(layout, units);
    if (part->factor == 1) {
        source_stretch(&part->source, piece, used);
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
    kernel_for(layout)->count(scratch, (size_t)geometry_bytes_of(layout, units), &tally);
    part->ones += tally.ones;
    for (size_t i = 0; i < PIECE; i++)
        to[i] &= scratch[i];
}

static int put_pieces(struct new_image *r, struct combination *c, uint8_t *piece)
{
    const uint32_t layout = r->h->layout;
    const uint64_t all = r->pass.geometry.units, most = geometry_units_in(layout, PIECE);
    for (uint64_t done = 0, units; (units = MIN(all - done, most)) > 0; done += units) {
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

int combine_add(struct combination *c, const bloomfile_filter *f, uint64_t factor)
{
    struct combine_part *part = &c->parts[c->count++];
    part->factor = factor;
    return source_start(&part->source, f);
}

/* Returns whether a live source gained keys while it was read, which may be in the body but are not
 * in n. */
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

static int make_pieces(struct combination *c, struct new_image *r)
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
        error = make_pieces(c, &r);
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

int combine_copy(struct header *h, const bloomfile_filter *f, struct destination to)
{
    struct combine_part part;
    struct combination c = { .h = *h, .parts = &part, .settle = combine_estimate };
    c.h.record.state = BLOOMFILE_STATE_SEALED;
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
        return BLOOMFILE_EDIFFERENTHASHCOUNT;
    return x->seed == y->seed ? 0 : BLOOMFILE_EDIFFERENTSEED;
}

/* ---- rescue: copies the body unchanged, and records its actual counts */

/* Fills a boot_id that equals no real boot_id, and so marks the file as unclean. */
#define NO_BOOT 0xFF

/* Returns whether the caller has accepted an unclean file that no sync has cleaned since. A sync in
 * progress may have begun after the body was read, so its mark also counts. */
static bool is_unclean(const bloomfile_filter *f)
{
    struct header now;
    return f->live->accept_unclean && (f->live->incomplete || live_load(f, &now) != 0 ||
                                       (now.record.flags & RECORD_SYNC_BEGUN) != 0 ||
                                       join_check_clean(f->live->fd, &now, false) != 0);
}

/* doubtful: the kernel may have dropped dirty pages, so only BLOOMFILE_ECHANGED is an error. */
static int make_rescue(struct source *s, struct new_image *r, struct header *h, bool doubtful)
{
    uint8_t *stretch = malloc(SOURCE_STRETCH);
    int error = stretch == NULL ? ENOMEM : 0;
    while (error == 0 && s->at < h->body_size) {
        const size_t size = source_next(s, h->body_size);
        source_stretch(s, stretch, size);
        error = new_image_put(r, stretch, size);
    }
    free(stretch);
    if (error == 0)
        error = doubtful ? changed_before_reading(s->f) : source_verdict(s);
    h->record.ones = s->tally.ones; /* as counted, not as recorded: bits may be lost */
    h->record.overflow = s->tally.overflow;
    if (is_unclean(s->f)) /* it may have become unclean during the copy */
        memset(h->record.boot_id, NO_BOOT, sizeof h->record.boot_id);
    return error != 0 ? error : new_image_finish(r, h);
}

int rescue(struct destination to, const bloomfile_filter *f, uint64_t series, bool succeeded)
{
    struct header h;
    struct source s;
    struct new_image r = { 0 };
    bool unreadable = source_describe(f, &h) != 0; /* the kernel may have dropped this page */
    if (f->live == NULL || h.record.state == BLOOMFILE_STATE_SEALED)
        return BLOOMFILE_ESEALED;
    int error = source_start(&s, f);
    if (error == BLOOMFILE_ECHANGED)
        return error; /* the body is another file's */
    bool doubtful = unreadable || changed_or_damaged(f) != 0;
    bool unclean = doubtful || is_unclean(f);
    h.series = series;
    h.record.state = BLOOMFILE_STATE_LIVE;
    h.record.sequence = 1;
    h.record.flags = RECORD_N_ESTIMATED | (succeeded ? RECORD_SUCCEEDED : 0);
    h.record.writers = 0;
    memset(h.record.boot_id, unclean ? NO_BOOT : 0, sizeof h.record.boot_id);
    if (error == 0)
        error = random_identity(h.record.identity, sizeof h.record.identity);
    if (error == 0)
        error = new_image_start(&r, &h, to);
    if (error == 0)
        error = make_rescue(&s, &r, &h, doubtful);
    new_image_abandon(&r);
    source_release(&s);
    return error;
}

/* ---- sources: the destination */

static bool is_file(const struct stat *status, dev_t device, ino_t inode)
{
    return status->st_dev == device && status->st_ino == inode;
}

static int find_target(const char *path, struct replace_only *found)
{
    int fd, error = replace_open(path, &fd);
    if (error == 0)
        error = replace_only_note(found, fd);
    if (fd >= 0)
        close(fd);
    return error;
}

int source_check_path(const struct destination *to, const bloomfile_filter *f, const char *path)
{
    const struct stat *old = &to->only.file;
    struct stat now;
    const bool replaces = to->only.exists && (to->to.flags & BLOOMFILE_TO_REPLACE) != 0;
    if (path == NULL || !replaces)
        return 0;
    if (is_file(old, f->file.device, f->file.inode))
        return handle_is_writing(f) ? BLOOMFILE_EREPLACED : 0;
    if (stat(path, &now) != 0)
        return errno == ENOENT || errno == ENOTDIR ? 0 : errno;
    return is_file(old, now.st_dev, now.st_ino) ? BLOOMFILE_EREPLACED : 0;
}

int source_destination(struct destination *to, const bloomfile_filter *const *sources, size_t count)
{
    int error = 0;
    if (to->to.kind != BLOOMFILE_TO_PATH)
        return 0;
    for (size_t i = 0; i < count && !to->only.wanted; i++)
        to->only = sources[i]->only;
    if (!to->only.wanted && (to->to.flags & BLOOMFILE_TO_REPLACE) != 0)
        to->only = *publish_thread_only();
    if (!to->only.wanted)
        error = find_target(to->to.path, &to->only);
    for (size_t i = 0; error == 0 && i < count; i++)
        error = source_check_path(to, sources[i], sources[i]->path);
    return error;
}

/* ---- sources: reading */

/* Loads the header with the record in force, plus the counts of this process since then. Sets
 * *others if another writer may have uncommitted counts. */
static int load_counted(const bloomfile_filter *f, struct header *h, bool *others)
{
    const int error = live_header_now(f, h);
    /* A child of fork() that has not joined yet is not counted in record.writers. */
    const uint32_t own = handle_is_writing(f) && atomic_load(&f->live->session->joined);
    *others = h->record.writers > own;
    return error;
}

int source_describe(const bloomfile_filter *f, struct header *h)
{
    bool others;
    int error = load_counted(f, h, &others);
    h->record.flags = others ? RECORD_N_ESTIMATED : h->record.flags & RECORD_N_ESTIMATED;
    h->header_size = GEOMETRY_FILE_HEADER;
    h->provenance &= SOURCE_PROVENANCE;
    image_describe(h);
    return error;
}

int source_start(struct source *s, const bloomfile_filter *f)
{
    *s = (struct source){ .f = f };
    body_check_start(&s->check, &f->header, f->view.body, f->guard);
    map_expect(&f->map, MAP_SCAN);
    const int error = changed_before_reading(f);
    if (error != 0 || f->live == NULL)
        return error;
    struct header then;
    bool others;
    s->counted = load_counted(f, &then, &others) == 0;
    /* An unclean file may have lost bits. It is unclean until a writer joins. */
    s->counted = s->counted && !is_unclean(f);
    s->counted_all = s->counted && !others && (then.record.flags & RECORD_N_ESTIMATED) == 0;
    s->recorded = then.record;
    return sync_prepare(f);
}

int source_status(const struct source *s)
{
    return changed_or_damaged_so_far(s->f);
}

/* size: a multiple of the page size. */
static void read_live(struct source *s, uint8_t *to, size_t size)
{
    const uint8_t *from = s->f->view.body + s->at;
    const uint64_t used = s->f->geometry.need - s->at;
    for (size_t i = 0; i < size; i += 8)
        put64(to + i, shared_load64(from + i));
    s->f->kernel->tally(to, used < size ? (size_t)used : size, &s->tally);
    if (s->at + size == s->f->geometry.body_size)
        s->stained = !body_last_page_is_clean(&s->f->header, to + size - CHECKSUM_PAGE);
}

size_t source_next(const struct source *s, uint64_t size)
{
    return size - s->at < SOURCE_STRETCH ? (size_t)(size - s->at) : SOURCE_STRETCH;
}

void source_stretch(struct source *s, uint8_t *to, size_t size)
{
    const size_t pages = (size + CHECKSUM_PAGE - 1) / CHECKSUM_PAGE;
    if (s->f->live != NULL)
        read_live(s, to, pages * CHECKSUM_PAGE);
    else
        body_check_copy(&s->check, to, pages);
    s->at += size;
}

/* Returns whether the body lacks bits that writers have set. If no writer had the file open and the
 * record has not changed, the counts must be equal. Otherwise writers may have set more bits during
 * the read, or removed keys from a counting filter. */
static bool lost_bits(const struct source *s)
{
    struct header now;
    const struct record *then = &s->recorded;
    if (s->counted_all && !handle_is_writing(s->f) && source_describe(s->f, &now) == 0 &&
        now.record.sequence == then->sequence)
        return s->tally.ones != then->ones || s->tally.overflow != then->overflow;
    return s->counted && !layout_of(s->f->header.layout)->counts && s->tally.ones < then->ones;
}

/* Syncs the source: after a failed write, the kernel may have dropped a page while it was read. */
static int live_verdict(const struct source *s)
{
    const bloomfile_filter *f = s->f;
    int error = s->stained ? 0 : sync_source(f);
    if (!s->stained && error == 0)
        error = changed_or_damaged(f);
    if (error != 0 || (!s->stained && !lost_bits(s)))
        return error;
    guard_distrust(f->guard, BLOOMFILE_EBODY);
    return BLOOMFILE_EBODY;
}

int source_verdict(struct source *s)
{
    if (s->f->live != NULL)
        return live_verdict(s);
    int error = body_check_end(&s->check, NULL);
    return changed_or_damaged(s->f) == BLOOMFILE_ECHANGED ? BLOOMFILE_ECHANGED : error;
}

void source_release(struct source *s)
{
    map_expect(&s->f->map, MAP_LOOKUPS);
}
