/* SPDX-License-Identifier: MIT
 * Adding keys to a live filter, one or many, and taking them back from a counting one. */
#include <bloomfile_live.h>

#include <string.h>

#include "format/hash.h"
#include "handle/join.h"
#include "handle/keys.h"

#define CHUNK 1024 /* digests added between two checks of the file's state, at most */

static int addable(bloomfile *f)
{
    return f->unnamed ? BLOOMFILE_EHASH : join_writable(f);
}

static void add_digests(bloomfile *f, const uint64_t *digests, size_t n, bool *was_new,
                        struct kernel_change *change)
{
    const struct kernel *kernel = f->kernel;
    uint8_t *body = map_bytes(&f->map) + f->header.body_offset;
    (f->alone && kernel->add_alone != NULL ? kernel->add_alone : kernel->add_shared)(
        body, f->view.units, f->header.k, digests, n, was_new, change);
}

/* Keys that are there are new to nobody, and adding them again changes nothing. */
static bool are_there(const bloomfile *f, const uint64_t *digests, size_t n)
{
    return !layout_of(f->header.layout)->counts &&
           (n == 1 ? f->kernel->contains(&f->view, digests[0])
                   : f->kernel->contains_many(&f->view, digests, n, NULL) == n);
}

static int add_exactly(bloomfile *f, const uint64_t *digests, size_t n, bool *was_new,
                       struct kernel_change *change)
{
    if (are_there(f, digests, n)) {
        if (was_new != NULL)
            memset(was_new, 0, n * sizeof *was_new);
        return 0;
    }
    int error = n == 1 ? session_lock_stripe(f->session, f->fd, digests[0])
                       : session_lock_stripes(f->session, f->fd);
    if (error != 0)
        return error;
    add_digests(f, digests, n, was_new, change);
    if (n == 1)
        session_unlock_stripe(f->session, f->fd, digests[0]);
    else
        session_unlock_stripes(f->session, f->fd);
    return 0;
}

/* Adds to *new_keys. */
static int add_chunk(bloomfile *f, const uint64_t *digests, size_t n, bool *was_new,
                     size_t *new_keys)
{
    struct kernel_change change = { 0 };
    int error = addable(f);
    if (error != 0)
        return error;
    if (f->exact)
        error = add_exactly(f, digests, n, was_new, &change);
    else
        add_digests(f, digests, n, was_new, &change);
    shared_order(); /* of two who each add a key and look up the other's, at least one finds it */
    session_count(f->session, &change);
    *new_keys += (size_t)change.keys;
    return error;
}

int bloomfile_add_digest(bloomfile *f, bloomfile_digest digest, bool *was_new)
{
    size_t new_keys = 0;
    int error = add_chunk(f, &digest, 1, NULL, &new_keys);
    if (error == 0 && was_new != NULL)
        *was_new = new_keys > 0;
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

int bloomfile_add_digests(bloomfile *f, const bloomfile_digest *digests, size_t n, bool *was_new,
                          size_t *new_keys)
{
    size_t sum = 0;
    int error = n == 0 ? addable(f) : 0;
    for (size_t start = 0; start < n && error == 0; start += CHUNK)
        error =
            add_chunk(f, digests + start, at_most(n - start, CHUNK), from(was_new, start), &sum);
    if (error == 0 && new_keys != NULL)
        *new_keys = sum;
    return error;
}

int bloomfile_add_many(bloomfile *f, const struct bloomfile_key *keys, size_t n, bool *was_new,
                       size_t *new_keys)
{
    uint64_t digests[KEYS_CHUNK];
    size_t sum = 0;
    int error = f->app_hash ? BLOOMFILE_EHASH : n == 0 ? addable(f) : 0;
    for (size_t start = 0; start < n && error == 0; start += KEYS_CHUNK) {
        size_t count = at_most(n - start, KEYS_CHUNK);
        keys_digests(f, keys + start, count, digests);
        error = add_chunk(f, digests, count, from(was_new, start), &sum);
    }
    if (error == 0 && new_keys != NULL)
        *new_keys = sum;
    return error;
}

int bloomfile_remove_digest(bloomfile *f, bloomfile_digest digest)
{
    if (!layout_of(f->header.layout)->counts)
        return BLOOMFILE_ENOTCOUNTING;
    int error = f->unnamed ? BLOOMFILE_EHASH : join_writable(f);
    if (error == 0)
        error = session_lock_removal(f->session, f->fd);
    if (error != 0)
        return error;
    struct kernel_change change = { 0 };
    bool was_there = f->kernel->remove_shared(map_bytes(&f->map) + f->header.body_offset,
                                              f->view.units, f->header.k, digest, &change);
    shared_order();
    session_unlock_removal(f->session, f->fd);
    session_count(f->session, &change);
    return was_there ? 0 : BLOOMFILE_EABSENT;
}

int bloomfile_remove(bloomfile *f, const void *key, size_t size)
{
    if (f->app_hash)
        return layout_of(f->header.layout)->counts ? BLOOMFILE_EHASH : BLOOMFILE_ENOTCOUNTING;
    return bloomfile_remove_digest(f, hash_key(f->header.seed, key, size));
}
