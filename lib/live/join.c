/* SPDX-License-Identifier: MIT
 * Joining and leaving the writers of a file: their lock, and the record's count of writers and
 * boot. */
#include "live/join.h"

#include <bloomfile_inspect.h>
#include <errno.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "format/decode.h"
#include "live/flush.h"
#include "live/lock_bytes.h"
#include "live/protocol_lock.h"
#include "os/file.h"
#include "os/host.h"

#define JOIN_TRIES 1000 /* one millisecond apart: live.md, L1 */

/* ---- looking */

/* Reads the record in force of a file whose static header is valid. On error *r is unchanged. */
static int read_record(int fd, const struct header *h, struct record *r)
{
    uint8_t bytes[HEADER_MAX];
    struct header now;
    struct header_faults faults = { 0 };
    int error = file_read(fd, 0, bytes, sizeof bytes);
    if (error != 0)
        return error;
    decode_header(bytes, geometry_of(h->layout, h->m, h->header_size).image_size, &now, &faults);
    if (faults.first == 0)
        *r = now.record;
    return faults.first;
}

/* A writer holds LOCK_SYNCS from before it sets the mark until after it has cleared it. So if the
 * lock is found free, and the marked record is still in force after that, the writer died. If
 * another record is in force, the marked sync has ended; the new record may be marked as well. */
int join_find_abandoned(int fd, const struct header *h, bool *abandoned)
{
    struct record now = h->record;
    unsigned tries = 0;
    *abandoned = false;
    while (now.state == BLOOMFILE_STATE_LIVE && (now.flags & RECORD_SYNC_BEGUN) != 0) {
        const uint64_t seen = now.sequence;
        bool held;
        int error = lock_held_exclusively(fd, LOCK_SYNCS, &held);
        if (error == 0 && !held)
            error = read_record(fd, h, &now);
        if (error == BLOOMFILE_ERECORD && tries++ < HEADER_TRIES) {
            sched_yield(); /* a record is being written */
            continue;
        }
        if (error != 0 || held)
            return error;
        *abandoned = now.sequence == seen;
        if (*abandoned)
            return 0;
    }
    return 0;
}

int join_check_clean(int fd, const struct header *h, bool accept_unclean)
{
    const uint8_t *then = h->record.boot_id;
    uint8_t boot[BOOT_ID_SIZE];
    if (accept_unclean || header_is_clean(&h->record))
        return 0;
    int error = boot_id(boot);
    if (error != 0)
        return error;
    if (memcmp(then, boot, BOOT_ID_SIZE) != 0)
        return BLOOMFILE_EUNCLEAN;
    bool abandoned;
    error = join_find_abandoned(fd, h, &abandoned);
    return error == 0 && abandoned ? BLOOMFILE_EUNCLEAN : error;
}

/* ---- joining */

/* A filter in memory does not outlive the boot, so any constant serves as its boot_id. */
static int identity(const bloomfile_filter *f, uint8_t id[BOOT_ID_SIZE])
{
    if (!f->live->in_memory)
        return boot_id(id);
    memset(id, 0xFF, BOOT_ID_SIZE);
    return 0;
}

static bool is_sole(const bloomfile_filter *f)
{
    return f->live->session->sole != NULL;
}

static int try_to_lock_writers(const bloomfile_filter *f)
{
    return f->live->alone && !f->live->in_memory ? protocol_lock_sole(f, &f->live->session->sole)
                                                 : lock_try(f->live->fd, LOCK_WRITERS, false);
}

/* Tries for one second: another writer may hold the lock exclusively during a turn
 * (live/adding.h). */
static int lock_writers(const bloomfile_filter *f)
{
    const struct timespec pause = { .tv_nsec = 1000 * 1000 };
    int error = try_to_lock_writers(f);
    for (unsigned i = 0; i < JOIN_TRIES && error == EBUSY; i++) {
        clock_nanosleep(CLOCK_MONOTONIC, 0, &pause, NULL);
        error = try_to_lock_writers(f);
    }
    return error;
}

void join_unlock_writers(const bloomfile_filter *f)
{
    if (is_sole(f))
        protocol_unlock_sole(f->live->session->sole);
    else if (file_check(f->live->fd, &f->live->own) != EBADF)
        lock_drop(f->live->fd, LOCK_WRITERS, 1);
    f->live->session->sole = NULL;
}

static int find_others(const bloomfile_filter *f, bool *others)
{
    *others = false;
    return is_sole(f) ? 0 : lock_held_by_others(f->live->fd, LOCK_WRITERS, others);
}

/* The caller holds LOCK_SYNCS, shared, and LOCK_RECORDS, so a mark was left by a writer that
 * died. */
static int enlist(const bloomfile_filter *f)
{
    struct header now;
    bool others;
    uint8_t boot[BOOT_ID_SIZE];
    int error = identity(f, boot);
    if (error == 0)
        error = live_load_to_commit(f, &now); /* join 4: the file is live */
    if (error == 0)
        error = find_others(f, &others);
    if (error != 0)
        return error;

    struct record next = now.record;
    bool clean = header_is_clean(&next);
    bool machine_died = !clean && memcmp(next.boot_id, boot, BOOT_ID_SIZE) != 0;
    bool sync_abandoned = !clean && (next.flags & RECORD_SYNC_BEGUN) != 0;
    /* join 5: an unclean file is refused, unless accepted: then counted bits may be lost. */
    const bool unclean = machine_died || sync_abandoned || f->live->incomplete;
    if (unclean && !f->live->accept_unclean)
        return BLOOMFILE_EUNCLEAN;
    if (unclean)
        next.ones = next.overflow = 0;
    if (sync_abandoned)
        error = map_forget(&f->map, f->live->fd);
    if (error != 0)
        return error;
    /* join 6: flag lost counts. If the record counts writers, but none holds the lock, they were
     * killed. */
    bool counts_lost = !clean && !others && next.writers > 0;
    if (unclean || counts_lost)
        next.flags |= RECORD_N_ESTIMATED;
    /* join 7: the file is in use. An unclean file gets the mark of an abandoned sync. So it stays
     * unclean, even if this writer is killed, until a sync has saved the keys added again. */
    memcpy(next.boot_id, boot, BOOT_ID_SIZE);
    next.writers = others ? next.writers + 1 : 1;
    next.flags = unclean ? next.flags | RECORD_SYNC_BEGUN : next.flags & ~RECORD_SYNC_BEGUN;
    error = live_commit(f, &now, next);
    f->live->session->unclean = error == 0 && unclean;
    return error;
}

static int enlist_between_syncs(const bloomfile_filter *f)
{
    struct protocol_lock lock;
    int error = protocol_lock_join(&lock, f); /* join 2: no writer syncs */
    if (error == 0)
        error = protocol_lock_records(&lock); /* join 3: no writer commits */
    if (error == 0)
        error = enlist(f);
    if (error != 0)
        join_unlock_writers(f);
    protocol_lock_end(&lock);
    return error;
}

int join_writers(const bloomfile_filter *f)
{
    int error = file_check(f->live->fd, &f->live->own);
    if (error == 0)
        error = lock_writers(f); /* join 1: no process seals */
    if (error == 0)
        error = enlist_between_syncs(f);
    atomic_store(&f->live->session->joined, error == 0);
    return error;
}

/* A child of fork() shares its parent's open file description, and with it the locks and the
 * kernel's reports of failed writes, each of which is given only once. So the child opens the file
 * again. */
int join_open_own(const bloomfile_filter *f)
{
    if (f->live->session->own)
        return 0;
    int error = file_check(f->live->fd, &f->live->own);
    if (error != 0)
        return error;
    /* A handle that has not joined the writers of a layer, or has left them, may still have to
     * poison it. */
    const bool writable = f->live->writing || file_is_writable(f->live->fd);
    error = writable ? map_reopen(&f->map, f->live->fd) : file_reopen(f->live->fd);
    if (error == EACCES && !f->live->writing)
        error = file_reopen(f->live->fd);
    f->live->session->own = error == 0;
    return error;
}

static int join_after_fork(const bloomfile_filter *f)
{
    pthread_mutex_lock(&f->live->session->syncs);
    int error = join_open_own(f);
    if (error == 0 && !atomic_load(&f->live->session->joined))
        error = join_writers(f);
    pthread_mutex_unlock(&f->live->session->syncs);
    return error;
}

int join_writable(const bloomfile_filter *f)
{
    if (!f->live->writing)
        return BLOOMFILE_EREADONLY;
    const bool joined = atomic_load_explicit(&f->live->session->joined, memory_order_acquire);
    int error = joined || live_in_doubt(f) ? 0 : join_after_fork(f);
    if (error != 0)
        return error;
    return live_in_doubt(f) ? atomic_load(&f->guard->error) : 0;
}

/* ---- leaving */

/* leave 2: the last writer leaves the file clean. If the record still counts writers, they were
 * killed. */
static struct record without_writers(struct record r)
{
    if (r.writers > 0)
        r.flags |= RECORD_N_ESTIMATED;
    r.writers = 0;
    memset(r.boot_id, 0, sizeof r.boot_id);
    return r;
}

static int leave_synced(const bloomfile_filter *f, struct header *now, struct record next)
{
    int error = flush_begin(f, now);
    if (error != 0)
        return error;
    error = flush_body(f, now); /* leave 4: on disk, before the record says clean */
    return error != 0 ? live_poison(f, now, error) : flush_end(f, now, next);
}

/* The caller holds LOCK_SYNCS and LOCK_RECORDS. */
static int resign(const bloomfile_filter *f)
{
    struct header now;
    bool others;
    int error = live_load_to_commit(f, &now);
    if (error == 0)
        error = find_others(f, &others);
    if (error != 0)
        return error;
    if (live_in_doubt(f)) {
        error = atomic_load(&f->guard->error);
        /* another file was copied over it, another writer died in a sync, or stat() failed: not for
         * this writer to poison */
        const bool not_ours =
            error == BLOOMFILE_ECHANGED || error == BLOOMFILE_EUNCLEAN || error > 0;
        return not_ours ? error : live_poison(f, &now, BLOOMFILE_EPOISONED);
    }
    struct kernel_change counted = session_counted(f->live->session);
    struct record next = live_add_counts(&now, now.record, &counted);
    if (next.writers > 0)
        next.writers--;
    if (!others)
        next = without_writers(next);
    /* leave 3: an abandoned mark is cleared, but only after a sync. A reader that sees the mark
     * while this writer holds LOCK_SYNCS assumes a sync in progress, and relies on it. */
    const bool marked = (next.flags & RECORD_SYNC_BEGUN) != 0;
    /* leave 5: the counts, and whether the file is clean. */
    return others && !marked ? live_commit(f, &now, next) : leave_synced(f, &now, next);
}

int join_leave(const bloomfile_filter *f)
{
    if (!atomic_load(&f->live->session->joined))
        return 0;
    struct protocol_lock lock;
    int error = protocol_lock_take(&lock, f); /* leave 1: no other writer syncs or commits */
    if (error == 0)
        error = protocol_lock_records(&lock);
    if (error == 0)
        error = resign(f);
    /* leave 6: before LOCK_SYNCS, so that the next writer to leave sees whether it is the last */
    join_unlock_writers(f);
    protocol_lock_end(&lock);
    return error;
}

void join_close(const bloomfile_filter *f)
{
    if (!f->live->session->unclean || live_in_doubt(f)) /* in doubt, it poisons the file */
        join_leave(f);
    else if (atomic_load(&f->live->session->joined))
        join_unlock_writers(f);
}

int join_check_path(const bloomfile_filter *f)
{
    struct stat own, now;
    if (f->path == NULL)
        return 0;
    if (stat(f->path, &now) != 0)
        return file_name_is_gone(errno, f->live->fd) ? BLOOMFILE_EREPLACED : 0;
    int error = file_stat(f->live->fd, &own);
    bool same = error != 0 || (own.st_dev == now.st_dev && own.st_ino == now.st_ino);
    return same ? error : BLOOMFILE_EREPLACED;
}

/* ---- the members of a handle that only live filters have */

int live_new(bloomfile_filter *f, const uint8_t *header)
{
    struct live *l = f->live = calloc(1, sizeof *l);
    if (l == NULL)
        return ENOMEM;
    *l = (struct live){ .header = header, .fd = -1 };
    for (unsigned slot = 0; slot < 2; slot++)
        f->state[slot] = header_state(header, slot);
    const int error = session_new(&l->session);
    if (error == 0)
        l->session->own = true;
    return error;
}

void live_free(struct live *l)
{
    if (l == NULL)
        return;
    if (l->session != NULL && l->session->sole != NULL)
        protocol_unlock_sole(l->session->sole);
    session_free(l->session);
    if (l->fd >= 0 && file_check(l->fd, &l->own) != EBADF)
        close(l->fd);
    free(l);
}
