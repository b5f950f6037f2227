/* SPDX-License-Identifier: MIT */
#include "live.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "boot.h"

#define LOAD_TRIES 100 /* a record that is being written looks damaged for a moment */

int live_load(const bloomfile *f, struct header *now)
{
    struct header_faults faults = { 0 };
    for (int tries = 0; tries < LOAD_TRIES; tries++) {
        uint8_t bytes[HEADER_MAX];
        memcpy(bytes, f->live, sizeof bytes);
        faults = (struct header_faults){ 0 };
        header_decode(bytes, f->geometry.image_size, now, &faults);
        if (faults.first == 0)
            break;
    }
    return faults.first;
}

/* ---- committing */

static int write_record(bloomfile *f, struct header *now, const struct record *next)
{
    uint8_t bytes[HEADER_MAX];
    unsigned slot = 1 - now->in_force;
    if (next->sequence == HEADER_SEALED_SEQUENCE && next->state != BLOOMFILE_SEALED)
        return EOVERFLOW;
    header_encode_record(now, next, f->live + header_record_offset(now, now->in_force), bytes);
    int error =
        map_write(f->fd, header_record_offset(now, slot), bytes, header_record_size(now));
    if (error == 0) {
        now->record = *next;
        now->in_force = slot;
    }
    return error;
}

int live_poison(bloomfile *f, struct header *now, int error)
{
    for (int slot = 0; slot < 2; slot++) {
        struct record poisoned = now->record;
        poisoned.state = BLOOMFILE_POISONED;
        poisoned.sequence++;
        if (write_record(f, now, &poisoned) == 0)
            map_sync(&f->map, HEADER_MAX);
    }
    guard_distrust(f->guard, BLOOMFILE_EPOISONED);
    return error;
}

int live_commit(bloomfile *f, struct header *now, struct record next)
{
    struct header before = *now;
    next.sequence = now->record.sequence + 1;
    int error = write_record(f, now, &next);
    if (error != 0)
        return error;
    error = map_sync(&f->map, HEADER_MAX);
    return error == 0 ? 0 : live_poison(f, &before, error);
}

static uint64_t moved(uint64_t value, int64_t by, uint64_t limit)
{
    uint64_t sum = value + (uint64_t)by;
    if (by < 0 && value < (uint64_t)-by)
        sum = 0;
    return sum < limit ? sum : limit;
}

/* A killed writer takes what it had counted with it, so that the sums may be out of range. */
struct record live_add_counts(const struct header *h, struct record r,
                              const struct kernel_change *counted)
{
    r.n = moved(r.n, counted->keys, UINT64_MAX);
    r.ones = moved(r.ones, counted->ones, h->m);
    r.overflow = moved(r.overflow, counted->overflow, r.ones);
    return r;
}

/* ---- joining */

static bool is_zero(const uint8_t id[BOOT_ID_SIZE])
{
    static const uint8_t zero[BOOT_ID_SIZE];
    return memcmp(id, zero, BOOT_ID_SIZE) == 0;
}

int live_check_clean(const struct record *r, bool accept_unclean)
{
    uint8_t boot[BOOT_ID_SIZE];
    if (accept_unclean || is_zero(r->boot_id))
        return 0;
    int error = boot_id(boot);
    if (error != 0)
        return error;
    return memcmp(r->boot_id, boot, BOOT_ID_SIZE) == 0 ? 0 : BLOOMFILE_EUNCLEAN;
}

/* For the holder of LOCK_RECORDS. */
static int enlist(bloomfile *f, bool accept_unclean)
{
    struct header now;
    bool others;
    uint8_t boot[BOOT_ID_SIZE];
    int error = boot_id(boot);
    if (error == 0)
        error = live_load(f, &now);
    if (error == 0)
        error = lock_held_by_others(f->fd, LOCK_WRITERS, &others);
    if (error != 0)
        return error;
    if (now.record.state != BLOOMFILE_LIVE)
        return now.record.state == BLOOMFILE_SEALED ? BLOOMFILE_ESEALED : BLOOMFILE_EPOISONED;

    struct record next = now.record;
    bool clean = is_zero(next.boot_id);
    bool machine_died = !clean && memcmp(next.boot_id, boot, BOOT_ID_SIZE) != 0;
    if (machine_died && !accept_unclean)
        return BLOOMFILE_EUNCLEAN;
    if (machine_died || (!clean && !others))
        next.flags |= RECORD_N_ESTIMATED;
    memcpy(next.boot_id, boot, BOOT_ID_SIZE);
    next.writers = others ? next.writers + 1 : 1;
    return live_commit(f, &now, next);
}

int live_join(bloomfile *f, bool accept_unclean)
{
    int error = lock_try(f->fd, LOCK_WRITERS, false);
    if (error != 0)
        return error;
    error = lock_wait(f->fd, LOCK_RECORDS, 1);
    if (error == 0) {
        error = enlist(f, accept_unclean);
        lock_drop(f->fd, LOCK_RECORDS, 1);
    }
    if (error != 0)
        lock_drop(f->fd, LOCK_WRITERS, 1);
    else
        atomic_store(&f->session->joined, true);
    return error;
}

/* A child of fork() shares its parent's open file, and so the parent's locks: it opens its own. */
static int open_anew(bloomfile *f)
{
    char path[sizeof "/proc/self/fd/" + 3 * sizeof f->fd];
    snprintf(path, sizeof path, "/proc/self/fd/%d", f->fd);
    int fd, error = map_open(path, true, &fd);
    if (error != 0)
        return error;
    error = map_again(&f->map, fd);
    if (error == 0 && dup3(fd, f->fd, O_CLOEXEC) < 0)
        error = errno;
    close(fd);
    return error;
}

static int join_after_fork(bloomfile *f)
{
    int error = 0;
    pthread_mutex_lock(&f->session->records);
    if (!atomic_load(&f->session->joined)) {
        error = open_anew(f);
        if (error == 0)
            error = live_join(f, false);
    }
    pthread_mutex_unlock(&f->session->records);
    return error;
}

int live_writable(bloomfile *f)
{
    if (f->session == NULL)
        return f->live == NULL ? BLOOMFILE_ESEALED : BLOOMFILE_EREADONLY;
    if (!atomic_load_explicit(&f->session->joined, memory_order_acquire)) {
        int error = join_after_fork(f);
        if (error != 0)
            return error;
    }
    return live_in_doubt(f) ? BLOOMFILE_EPOISONED : 0;
}

/* ---- leaving */

static void resign(bloomfile *f)
{
    struct header now;
    bool others = true;
    if (live_load(f, &now) != 0 || now.record.state != BLOOMFILE_LIVE ||
        lock_held_by_others(f->fd, LOCK_WRITERS, &others) != 0)
        return;
    struct kernel_change counted = session_take(f->session);
    struct record next = live_add_counts(&now, now.record, &counted);
    if (next.writers > 0)
        next.writers--;
    if (!others) {
        int error = map_sync(&f->map, f->map.base_size);
        if (error != 0) {
            live_poison(f, &now, error);
            return;
        }
        if (next.writers > 0)
            next.flags |= RECORD_N_ESTIMATED;
        next.writers = 0;
        memset(next.boot_id, 0, sizeof next.boot_id);
    }
    live_commit(f, &now, next);
}

void live_leave(bloomfile *f)
{
    if (!atomic_load(&f->session->joined) || lock_wait(f->fd, LOCK_RECORDS, 1) != 0)
        return;
    resign(f);
    lock_drop(f->fd, LOCK_RECORDS, 1);
    lock_drop(f->fd, LOCK_WRITERS, 1);
}
