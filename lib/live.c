/* SPDX-License-Identifier: MIT */
#include "live.h"

#include <bloomfile_inspect.h>
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "boot.h"

int live_load(const bloomfile *f, struct header *now)
{
    struct header_faults faults;
    if (!map_is_there(&f->map, f->live, HEADER_MAX))
        return BLOOMFILE_ETRUNCATED;
    for (int tries = 0; tries < HEADER_TRIES; tries++) {
        uint8_t bytes[HEADER_MAX];
        memcpy(bytes, f->live, sizeof bytes);
        faults = (struct header_faults){ 0 };
        header_decode(bytes, f->geometry.image_size, now, &faults);
        if (faults.first != BLOOMFILE_ERECORD)
            break;
        sched_yield();
    }
    if (faults.first == 0 && now->crc != f->header.crc)
        return BLOOMFILE_EHEADER;
    return faults.first;
}

int live_load_to_commit(const bloomfile *f, struct header *now)
{
    int error = live_load(f, now);
    if (error != 0 || now->record.state == BLOOMFILE_LIVE)
        return error;
    return now->record.state == BLOOMFILE_SEALED ? BLOOMFILE_ESEALED : BLOOMFILE_EPOISONED;
}

/* ---- committing */

/* Over the record that is not in force. */
static int write_record(bloomfile *f, struct header *now, const struct record *next)
{
    uint8_t bytes[HEADER_RECORD_MAX];
    const unsigned slot = 1 - now->in_force;
    if (next->sequence == HEADER_SEALED_SEQUENCE && next->state != BLOOMFILE_SEALED)
        return EOVERFLOW;
    header_encode_record(now, next, f->live + header_record_offset(now, now->in_force), bytes);
    return map_write(f->fd, header_record_offset(now, slot), bytes, header_record_size(now));
}

int live_poison(bloomfile *f, struct header *now, int error)
{
    guard_distrust(f->guard, BLOOMFILE_EPOISONED);
    now->record.state = BLOOMFILE_POISONED;
    for (unsigned slots = 0; slots < 2; slots++) {
        struct record poisoned = now->record;
        poisoned.sequence += 1 + slots;
        write_record(f, now, &poisoned);
        map_sync(&f->map, HEADER_MAX);
        now->in_force = 1 - now->in_force;
    }
    return error;
}

int live_commit(bloomfile *f, struct header *now, struct record next)
{
    next.sequence = now->record.sequence + 1;
    int error = write_record(f, now, &next);
    if (error != 0)
        return error;
    error = map_sync(&f->map, HEADER_MAX);
    return error == 0 ? 0 : live_poison(f, now, error);
}

/* value + by, or the nearest number up to `limit`; then counts are missing. */
static uint64_t moved(uint64_t value, int64_t by, uint64_t limit, uint32_t *flags)
{
    uint64_t sum;
    bool out_of_range = by < 0 ? __builtin_sub_overflow(value, -(uint64_t)by, &sum)
                               : __builtin_add_overflow(value, (uint64_t)by, &sum);
    if (!out_of_range && sum <= limit)
        return sum;
    *flags |= RECORD_N_ESTIMATED;
    return by < 0 ? 0 : limit;
}

/* A killed writer takes what it had counted with it, and another may have removed what one has
 * added and not yet committed: so the sums may be out of range. */
struct record live_add_counts(const struct header *h, struct record r,
                              const struct kernel_change *counted)
{
    r.n = moved(r.n, counted->keys, UINT64_MAX, &r.flags);
    r.ones = moved(r.ones, counted->ones, h->m, &r.flags);
    r.overflow = moved(r.overflow, counted->overflow, r.ones, &r.flags);
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
        return error == ENOENT || error == EPROTO ? BLOOMFILE_EUNCLEAN : error;
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
        error = live_load_to_commit(f, &now);
    if (error == 0)
        error = lock_held_by_others(f->fd, LOCK_WRITERS, &others);
    if (error != 0)
        return error;

    struct record next = now.record;
    bool clean = is_zero(next.boot_id);
    bool machine_died = !clean && memcmp(next.boot_id, boot, BOOT_ID_SIZE) != 0;
    if (machine_died && !accept_unclean)
        return BLOOMFILE_EUNCLEAN;
    bool counts_lost = !clean && !others && next.writers > 0;
    if (machine_died || counts_lost)
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
    if (error == 0)
        error = enlist(f, accept_unclean);
    if (error != 0)
        lock_drop(f->fd, LOCK_WRITERS, 1);
    else
        atomic_store(&f->session->joined, true);
    lock_drop(f->fd, LOCK_RECORDS, 1);
    return error;
}

/* A child of fork() shares its parent's open file, and so the parent's locks: it opens its own. */
static int join_after_fork(bloomfile *f)
{
    int error = 0;
    pthread_mutex_lock(&f->session->records);
    if (!atomic_load(&f->session->joined)) {
        error = map_reopen(&f->map, f->fd);
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

/* Nobody else has it open for writing. Holds LOCK_RECORDS. */
static int leave_clean(bloomfile *f, struct header *now, struct record next)
{
    int error = map_sync(&f->map, f->map.base_size);
    if (error != 0)
        return live_poison(f, now, error);
    if (next.writers > 0)
        next.flags |= RECORD_N_ESTIMATED;
    next.writers = 0;
    memset(next.boot_id, 0, sizeof next.boot_id);
    return live_commit(f, now, next);
}

static int resign(bloomfile *f)
{
    struct header now;
    bool others;
    int error = live_load_to_commit(f, &now);
    if (error == 0)
        error = lock_held_by_others(f->fd, LOCK_WRITERS, &others);
    if (error != 0)
        return error;
    if (live_in_doubt(f))
        return live_poison(f, &now, BLOOMFILE_EPOISONED);
    struct kernel_change counted = session_take(f->session);
    struct record next = live_add_counts(&now, now.record, &counted);
    if (next.writers > 0)
        next.writers--;
    return others ? live_commit(f, &now, next) : leave_clean(f, &now, next);
}

int live_leave(bloomfile *f)
{
    if (!atomic_load(&f->session->joined))
        return 0;
    int error = lock_wait(f->fd, LOCK_RECORDS, 1);
    if (error == 0)
        error = resign(f);
    lock_drop(f->fd, LOCK_WRITERS, 1);
    lock_drop(f->fd, LOCK_RECORDS, 1);
    return error;
}

int live_check_path(const bloomfile *f)
{
    struct stat own, now;
    if (f->path == NULL)
        return 0;
    if (stat(f->path, &now) != 0)
        return errno == ENOENT || errno == ENOTDIR ? BLOOMFILE_EREPLACED : 0;
    int error = map_stat(f->fd, &own);
    bool same = error != 0 || (own.st_dev == now.st_dev && own.st_ino == now.st_ino);
    return same ? error : BLOOMFILE_EREPLACED;
}
