/* SPDX-License-Identifier: MIT
 * Taking keys back from a counting filter. */
#include <bloomfile_live.h>

#include "format/hash.h"
#include "handle/join.h"
#include "kernel/add_shared.h"

int bloomfile_remove_digest(bloomfile *f, bloomfile_digest digest)
{
    if (f->header.layout != BLOOMFILE_COUNTING)
        return BLOOMFILE_ENOTCOUNTING;
    int error = f->unnamed ? BLOOMFILE_EHASH : join_writable(f);
    if (error == 0)
        error = session_lock_removal(f->session, f->fd);
    if (error != 0)
        return error;
    struct kernel_change change = { 0 };
    bool was_there = kernel_remove_shared(map_bytes(&f->map) + f->header.body_offset, f->view.units,
                                          f->header.k, digest, &change);
    shared_order();
    session_unlock_removal(f->session, f->fd);
    session_count(f->session, &change);
    return was_there ? 0 : BLOOMFILE_EABSENT;
}

int bloomfile_remove(bloomfile *f, const void *key, size_t size)
{
    if (f->app_hash)
        return f->header.layout != BLOOMFILE_COUNTING ? BLOOMFILE_ENOTCOUNTING : BLOOMFILE_EHASH;
    return bloomfile_remove_digest(f, hash_key(f->header.seed, key, size));
}
