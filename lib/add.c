/* SPDX-License-Identifier: MIT
 * Adding keys to a live filter, one or many, and taking them back from a counting one. */
#include <bloomfile_live.h>

#include "format/hash.h"
#include "handle/adding.h"
#include "handle/join.h"
#include "handle/keys.h"
#include "handle/live.h"
#include "series/series.h"

static int addable(bloomfile *f)
{
    if (f->unnamed)
        return BLOOMFILE_EHASH;
    return f->series != NULL ? series_addable(f) : join_writable(f);
}

static int add_some(bloomfile *f, const uint64_t *digests, size_t n, bool *was_new,
                    struct adding_done *done)
{
    if (f->unnamed)
        return BLOOMFILE_EHASH;
    return f->series != NULL ? series_add(f, digests, n, was_new, done)
                             : adding(f, digests, n, was_new, done);
}

int bloomfile_add_digest(bloomfile *f, bloomfile_digest digest, bool *was_new)
{
    struct adding_done done = { 0 };
    int error = add_some(f, &digest, 1, NULL, &done);
    if (error == 0 && was_new != NULL)
        *was_new = done.new_keys > 0;
    return error;
}

int bloomfile_add(bloomfile *f, const void *key, size_t size, bool *was_new)
{
    if (f->app_hash)
        return BLOOMFILE_EHASH;
    return bloomfile_add_digest(f, hash_key(f->header.seed, key, size), was_new);
}

static bool *from(bool *was_new, size_t start)
{
    return was_new != NULL ? was_new + start : NULL;
}

static size_t at_most(size_t n, size_t most)
{
    return n < most ? n : most;
}

static int report(struct adding_done sum, int error, size_t *new_keys, size_t *done)
{
    if (new_keys != NULL)
        *new_keys = sum.new_keys;
    if (done != NULL)
        *done = sum.keys;
    return error;
}

int bloomfile_add_digests(bloomfile *f, const bloomfile_digest *digests, size_t n, bool *was_new,
                          size_t *new_keys, size_t *done)
{
    struct adding_done sum = { 0 };
    int error = n == 0 ? addable(f) : 0;
    for (size_t start = 0; start < n && error == 0; start += ADDING_MOST)
        error = add_some(f, digests + start, at_most(n - start, ADDING_MOST), from(was_new, start),
                         &sum);
    return report(sum, error, new_keys, done);
}

int bloomfile_add_many(bloomfile *f, const struct bloomfile_key *keys, size_t n, bool *was_new,
                       size_t *new_keys, size_t *done)
{
    uint64_t digests[KEYS_CHUNK];
    struct adding_done sum = { 0 };
    int error = f->app_hash ? BLOOMFILE_EHASH : n == 0 ? addable(f) : 0;
    for (size_t start = 0; start < n && error == 0; start += KEYS_CHUNK) {
        size_t count = at_most(n - start, KEYS_CHUNK);
        keys_digests(f, keys + start, count, digests);
        error = add_some(f, digests, count, from(was_new, start), &sum);
    }
    return report(sum, error, new_keys, done);
}

int bloomfile_remove_digest(bloomfile *f, bloomfile_digest digest)
{
    if (!layout_of(f->header.layout)->counts)
        return BLOOMFILE_ENOTCOUNTING;
    int error = addable(f);
    if (error == 0)
        error = file_check(f->fd, &f->own);
    if (error == 0)
        error = session_lock_removal(f->session, f->fd);
    if (error != 0)
        return error;
    struct kernel_change change = { 0 };
    bool was_there = f->kernel->remove_shared(map_bytes(&f->map) + f->header.body_offset,
                                              f->view.units, f->header.k, digest, &change);
    shared_order();
    session_unlock_removal(f->session, f->fd);
    (void)session_count(f->session, &change);
    return was_there ? 0 : BLOOMFILE_EABSENT;
}

int bloomfile_remove(bloomfile *f, const void *key, size_t size)
{
    if (f->app_hash)
        return layout_of(f->header.layout)->counts ? BLOOMFILE_EHASH : BLOOMFILE_ENOTCOUNTING;
    return bloomfile_remove_digest(f, hash_key(f->header.seed, key, size));
}
