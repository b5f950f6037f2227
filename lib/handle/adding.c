/* SPDX-License-Identifier: MIT
 * The bits, then the counts. */
#include "handle/adding.h"

#include <string.h>

#include "format/layout.h"
#include "handle/join.h"
#include "handle/live.h"

/* add 1: sets the bits. */
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
    int error = file_check(f->fd, &f->own);
    if (error == 0)
        error = n == 1 ? session_lock_stripe(f->session, f->fd, digests[0])
                       : session_lock_stripes(f->session, f->fd);
    if (error != 0)
        return error;
    /* grow 9: once more, under the lock */
    const bool succeeded = header_is_layer(&f->header) && live_succeeded(f);
    if (!succeeded)
        add_digests(f, digests, n, was_new, change);
    if (n == 1)
        session_unlock_stripe(f->session, f->fd, digests[0]);
    else
        session_unlock_stripes(f->session, f->fd);
    return succeeded ? ADDING_SUCCEEDED : 0;
}

int adding(bloomfile *f, const uint64_t *digests, size_t n, bool *was_new, size_t *new_keys)
{
    struct kernel_change change = { 0 };
    int error = join_writable(f);
    if (error == 0 && f->exact)
        error = add_exactly(f, digests, n, was_new, &change);
    else if (error == 0)
        add_digests(f, digests, n, was_new, &change);
    if (error != 0)
        return error;
    /* add 2: of two who each add a key and look up the other's, at least one finds it. */
    shared_order();
    session_count(f->session, &change);
    *new_keys += (size_t)change.keys;
    return 0;
}
