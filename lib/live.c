/* SPDX-License-Identifier: MIT
 * Live filters: creating, adding, removing, syncing and rescuing them. */
#include <bloomfile_live.h>

#include "combine/combine.h"
#include "format/hash.h"
#include "format/invalid.h"
#include "format/min.h"
#include "handle/creating.h"
#include "handle/lookup.h"
#include "image/new_image.h"
#include "image/params.h"
#include "live/adding.h"
#include "live/capacity.h"
#include "live/file_change.h"
#include "live/join.h"
#include "live/records.h"
#include "live/sync.h"
#include "series/layers.h"
#include "series/series.h"

static int take_live_params(struct bloomfile_params *p, const struct bloomfile_params *given)
{
    int error = params_take(p, given);
    if (error == 0 && layout_of(p->layout)->solved)
        error = BLOOMFILE_EISRIBBON;
    if (error == 0)
        error = params_refuse_of_builder(p);
    return error == 0 && p->series == 0 ? params_refuse_of_live(p) : error;
}

/* Refuses a filter whose bits cannot hold its capacity, so that creating it fails and not a later
 * add. */
static int plan(const struct bloomfile_params *p, unsigned flags, struct header *h)
{
    const int error = creating_plan(p, h);
    return error == 0 && capacity_limit(h, flags) < h->capacity ? BLOOMFILE_EFULL : error;
}

int bloomfile_create(bloomfile_filter **out, const char *path,
                     const struct bloomfile_params *params, unsigned flags)
{
    *out = NULL;
    if (path == NULL)
        return invalid(BLOOMFILE_EVALUE, "path");
    if ((flags & ~(BLOOMFILE_TO_REPLACE | BLOOMFILE_OPEN_ADD_EXACT | BLOOMFILE_OPEN_SOLE_ADDER |
                   BLOOMFILE_OPEN_ONE_THREAD | BLOOMFILE_OPEN_OVER_CAPACITY)) != 0)
        return invalid(BLOOMFILE_EFLAGS, "flags");
    struct bloomfile_params p;
    struct header h;
    int error = take_live_params(&p, params);
    if (error == 0 && p.series != 0 && (flags & BLOOMFILE_OPEN_SOLE_ADDER) != 0)
        return BLOOMFILE_EISSERIES;
    if (error == 0 && p.series != 0)
        return series_create(out, path, &p, flags);
    if (error == 0)
        error = plan(&p, flags, &h);
    if (error == 0)
        error = replaced_check(path, flags);
    return error != 0 ? error : creating_file(out, path, &h, flags);
}

int bloomfile_create_memory(bloomfile_filter **out, const struct bloomfile_params *params,
                            unsigned flags)
{
    *out = NULL;
    if ((flags & ~(BLOOMFILE_OPEN_ADD_EXACT | BLOOMFILE_OPEN_SOLE_ADDER |
                   BLOOMFILE_OPEN_OVER_CAPACITY)) != 0)
        return invalid(BLOOMFILE_EFLAGS, "flags");
    struct bloomfile_params p;
    struct header h;
    int error = take_live_params(&p, params);
    if (error == 0 && p.series != 0)
        return series_create(out, NULL, &p, flags);
    if (error == 0)
        error = plan(&p, flags, &h);
    return error != 0 ? error : creating_memory(out, &h, flags);
}

/* ---- adds, and removals from counting filters */

static int add_some(bloomfile_filter *f, const uint64_t *digests, size_t n, bool *was_new,
                    struct adding_done *done)
{
    if (!app_hash_is_named(f))
        return BLOOMFILE_EHASH;
    return f->operations->add(f, digests, n, was_new, done);
}

int bloomfile_add_digest(bloomfile_filter *f, bloomfile_digest digest, bool *was_new)
{
    return adding_one(f, digest, was_new)
               ? 0
               : bloomfile_add_digests(f, &digest, 1, was_new, NULL, NULL);
}

int bloomfile_add(bloomfile_filter *f, const void *key, size_t size, bool *was_new)
{
    if (hash_is_applications(f->header.hash_id))
        return BLOOMFILE_EHASH;
    return bloomfile_add_digest(f, hash_key(f->header.seed, key, size), was_new);
}

static bool *from(bool *was_new, size_t start)
{
    return was_new != NULL ? was_new + start : NULL;
}

static int report(struct adding_done sum, int error, size_t *new_keys, size_t *done)
{
    if (new_keys != NULL)
        *new_keys = sum.new_keys;
    if (done != NULL)
        *done = sum.keys;
    return error;
}

int bloomfile_add_digests(bloomfile_filter *f, const bloomfile_digest *digests, size_t n,
                          bool *was_new, size_t *new_keys, size_t *done)
{
    struct adding_done sum = { 0 };
    int error = n == 0 ? add_some(f, NULL, 0, NULL, &sum) : 0;
    for (size_t at = 0, count; error == 0 && (count = MIN(n - at, ADDING_MOST)) > 0; at += count) {
        adding_turn(f, at, n - at);
        error = add_some(f, digests + at, count, from(was_new, at), &sum);
    }
    adding_turn(f, 0, 0);
    return report(sum, error, new_keys, done);
}

int bloomfile_add_many(bloomfile_filter *f, const struct bloomfile_key *keys, size_t n,
                       bool *was_new, size_t *new_keys, size_t *done)
{
    uint64_t digests[LOOKUP_CHUNK];
    struct adding_done sum = { 0 };
    int error = hash_is_applications(f->header.hash_id) ? BLOOMFILE_EHASH : 0;
    if (error == 0 && n == 0)
        error = add_some(f, NULL, 0, NULL, &sum);
    for (size_t at = 0, count; error == 0 && (count = MIN(n - at, LOOKUP_CHUNK)) > 0; at += count) {
        adding_turn(f, at, n - at);
        lookup_digests(f, keys + at, count, digests);
        error = add_some(f, digests, count, from(was_new, at), &sum);
    }
    adding_turn(f, 0, 0);
    return report(sum, error, new_keys, done);
}

int bloomfile_remove_digest(bloomfile_filter *f, bloomfile_digest digest)
{
    if (!layout_of(f->header.layout)->counts)
        return BLOOMFILE_ENOTCOUNTING;
    return app_hash_is_named(f) ? f->operations->remove(f, digest) : BLOOMFILE_EHASH;
}

int bloomfile_remove(bloomfile_filter *f, const void *key, size_t size)
{
    if (hash_is_applications(f->header.hash_id))
        return layout_of(f->header.layout)->counts ? BLOOMFILE_EHASH : BLOOMFILE_ENOTCOUNTING;
    return bloomfile_remove_digest(f, hash_key(f->header.seed, key, size));
}

/* ---- syncing and closing */

int bloomfile_sync(bloomfile_filter *f, const uint8_t watermark[BLOOMFILE_WATERMARK_SIZE])
{
    return f->operations->sync(f, watermark);
}

int bloomfile_finish(bloomfile_filter *f)
{
    return f->operations->finish(f);
}

/* ---- rescuing a live filter that can no longer be written to disk */

int bloomfile_rescue(const char *dst, const bloomfile_filter *f, unsigned flags)
{
    return f->operations->rescue(f, dst, flags);
}
