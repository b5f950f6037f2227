/* SPDX-License-Identifier: MIT
 * Adding to a single live image: the bits first, then the counts. */
#include "live/adding.h"

#include <string.h>
#include <time.h>

#include "format/layout.h"
#include "live/capacity.h"
#include "live/join.h"
#include "live/protocol_lock.h"
#include "live/records.h"

static bool adds_alone(const bloomfile_filter *f)
{
    return f->live->alone || f->live->session->turn;
}

/* add 1: sets the bits. */
static void add_digests(bloomfile_filter *f, const uint64_t *digests, size_t n, bool *was_new,
                        struct kernel_change *change)
{
    const struct kernel *kernel = f->kernel;
    uint8_t *body = map_bytes(&f->map) + f->header.body_offset;
    if (n == 1 && f->live->set != NULL) {
        const unsigned ones = f->live->set(body, f->view.units, f->header.k, digests[0]);
        *change = (struct kernel_change){ .keys = ones != 0, .ones = ones };
        if (was_new != NULL)
            *was_new = ones != 0;
        return;
    }
    (adds_alone(f) && kernel->add_alone != NULL ? kernel->add_alone : kernel->add_shared)(
        body, f->view.units, f->header.k, digests, n, was_new, change);
}

/* Returns whether all keys are present. If so, adding them would change nothing, and an exact adder
 * needs no lock. */
static bool are_there(const bloomfile_filter *f, const uint64_t *digests, size_t n)
{
    return !layout_of(f->header.layout)->counts &&
           (n == 1 ? f->kernel->contains(&f->view, digests[0])
                   : f->kernel->contains_many(&f->view, digests, n, NULL) == n);
}

static __attribute__((noinline)) int add_exactly(bloomfile_filter *f, const uint64_t *digests,
                                                 size_t n, bool *was_new,
                                                 struct kernel_change *change)
{
    if (are_there(f, digests, n)) {
        if (was_new != NULL)
            memset(was_new, 0, n * sizeof *was_new);
        return 0;
    }
    int error = file_check(f->live->fd, &f->live->own);
    if (error == 0)
        error = n == 1 ? session_lock_stripe(f->live->session, f->live->fd, digests[0])
                       : session_lock_stripes(f->live->session, f->live->fd);
    if (error != 0)
        return error;
    /* grow 9: check again for a successor: no process can set its bit while this lock is held */
    const bool succeeded = header_is_layer(&f->header) && live_succeeded(f);
    if (!succeeded)
        add_digests(f, digests, n, was_new, change);
    if (n == 1)
        session_unlock_stripe(f->live->session, f->live->fd, digests[0]);
    else
        session_unlock_stripes(f->live->session, f->live->fd);
    return succeeded ? ADDING_SUCCEEDED : 0;
}

/* Returns whether the layer has a successor. Checked often, because adds after that must be
 * repeated (live.md, S10). */
static bool is_left(const bloomfile_filter *f)
{
    return header_is_layer(&f->header) && live_succeeded(f);
}

static inline int add_all(bloomfile_filter *f, const uint64_t *digests, size_t n, bool *was_new,
                          struct adding_done *done)
{
    struct kernel_change change = { 0 };
    if (f->live->session->turn && is_left(f))
        return ADDING_SUCCEEDED; /* grow 9: checked again under the lock */
    if (!f->live->exact || f->live->session->turn) {
        add_digests(f, digests, n, was_new, &change);
    } else {
        const int error = add_exactly(f, digests, n, was_new, &change);
        if (error != 0)
            return error;
    }
    /* add 2: if two threads each add a key and then look up the other's key, at least one finds
     * it. */
    shared_order();
    capacity_count(f, &change);
    done->new_keys += (size_t)change.keys;
    done->keys += n;
    return 0;
}

/* Out of line, so that the common case saves fewer registers. */
static __attribute__((noinline)) int add_in_parts(bloomfile_filter *f, const uint64_t *digests,
                                                  size_t n, bool *was_new, struct adding_done *done)
{
    int error = 0;
    for (size_t at = 0, some; error == 0 && (some = n - at) > 0; at += some) {
        if (at > 0 && is_left(f))
            return ADDING_SUCCEEDED;
        error = capacity_take(f, digests + at, &some);
        if (error == 0)
            error = add_all(f, digests + at, some, was_new != NULL ? was_new + at : NULL, done);
    }
    return error;
}

int adding(bloomfile_filter *f, const uint64_t *digests, size_t n, bool *was_new,
           struct adding_done *done)
{
    const int error = join_writable(f);
    if (error != 0 || n == 0)
        return error;
    return capacity_has(f, n) ? add_all(f, digests, n, was_new, done)
                              : add_in_parts(f, digests, n, was_new, done);
}

static uint64_t nanoseconds(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

/* A writer that joins tries for one second (L1). On a slow disk, adding to a hundred cold pages may
 * take as long, so a stretch of digests is a turn only if the stretch before it was fast. Between
 * two turns the lock is shared for less than a microsecond, and a joining writer tries only once a
 * millisecond. So after about 100 ms of turns there is a gap of 3 ms without turns. */
void adding_next_turn(bloomfile_filter *f, size_t left)
{
    struct session *s = f->live->session;
    const uint64_t now = nanoseconds();
    if (s->turn) {
        protocol_unlock_turn(f);
        s->ended = now;
    }
    if (now - s->ended >= ADDING_GAP)
        s->spell = now;
    if (s->stretch > 0)
        s->fast = now - s->began < s->stretch * ADDING_FAST;
    s->stretch = left < ADDING_TURN_LEAST ? 0 : left < ADDING_TURN ? left : ADDING_TURN;
    s->began = now;
    s->turn = s->stretch > 0 && s->fast && now - s->spell < ADDING_SPELL &&
              atomic_load(&s->joined) && protocol_lock_turn(f);
}

int adding_late(bloomfile_filter *f, const uint64_t *digests, size_t n)
{
    struct adding_done ignored = { 0 };
    const int error = join_writable(f);
    return error != 0 ? error : add_all(f, digests, n, NULL, &ignored);
}

int removing(bloomfile_filter *f, uint64_t digest)
{
    int error = join_writable(f);
    if (error == 0)
        error = file_check(f->live->fd, &f->live->own);
    if (error == 0)
        error = session_lock_removal(f->live->session, f->live->fd);
    if (error != 0)
        return error;
    struct kernel_change change = { 0 };
    const bool was_there = f->kernel->remove_shared(map_bytes(&f->map) + f->header.body_offset,
                                                    f->view.units, f->header.k, digest, &change);
    shared_order();
    session_unlock_removal(f->live->session, f->live->fd);
    (void)session_count(f->live->session, &change);
    return was_there ? 0 : BLOOMFILE_EABSENT;
}
