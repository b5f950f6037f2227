/* SPDX-License-Identifier: MIT
 * Syncing a live body: set the mark, msync the body, commit without the mark. */
#include "live/flush.h"

#include <bloomfile_inspect.h>
#include <errno.h>
#include <string.h>

#include "format/decode.h"
#include "image/body.h"
#include "live/lock_bytes.h"
#include "live/protocol_lock.h"
#include "live/records.h"
#include "os/file.h"
#include "os/map.h"

/* sync 2: the mark. If it is already set, its writer died, because LOCK_SYNCS was free. The mark
 * was set after this writer joined: joining waits for LOCK_SYNCS, and refuses a marked file unless
 * the caller accepts it. So any failed write that the kernel reported to the dead writer is also
 * reported to this one. */
int flush_begin(const bloomfile_filter *f, struct header *now)
{
    struct record next = now->record;
    if (next.sequence >= LIVE_LAST_SEQUENCE - 1)
        return EOVERFLOW; /* clearing the mark takes one more sequence */
    if ((next.flags & RECORD_SYNC_BEGUN) != 0)
        return 0;
    next.flags |= RECORD_SYNC_BEGUN;
    return live_write(f, now, next);
}

/* After a failed write the kernel keeps the pages in memory, but does not write them again. Keys
 * that are added again find their bits set there, and change nothing. So this changes all pages. */
static void change_each_page(const bloomfile_filter *f)
{
    uint8_t *body = (uint8_t *)(uintptr_t)f->view.body;
    for (uint64_t at = 0; at < f->geometry.body_size; at += CHECKSUM_PAGE) {
        uint8_t seen = shared_load8(body + at);
        while (!shared_change8(body + at, &seen, seen))
            ;
    }
}

int flush_body(const bloomfile_filter *f, const struct header *begun)
{
    if (f->live->session->unclean)
        change_each_page(f);
    int error = map_sync(&f->map, f->map.base_size); /* sync 3: the body goes to disk */
    if (error == 0 && f->live->session->unclean && !f->live->in_memory)
        error = file_check_written(f->live->fd, f->header.body_offset, f->geometry.body_size);
    if (error != 0)
        guard_distrust(f->guard, BLOOMFILE_EPOISONED);
    else
        f->live->session->durable = begun->record.sequence + 1;
    return error;
}

struct record flush_ended(struct record r)
{
    r.flags &= ~RECORD_SYNC_BEGUN;
    return r;
}

void flush_drop_mark(const bloomfile_filter *f, struct header *now)
{
    if (!f->live->session->unclean)
        live_write(f, now, flush_ended(now->record));
}

static void is_saved(const bloomfile_filter *f)
{
    f->live->session->unclean = false;
    atomic_store(&f->live->incomplete, false);
}

int flush_end(const bloomfile_filter *f, struct header *now, struct record next)
{
    int error = live_commit(f, now, flush_ended(next));
    if (error == 0)
        is_saved(f);
    else if (!live_in_doubt(f))
        flush_drop_mark(f, now);
    return error;
}

static int begin_sync(const bloomfile_filter *f, const struct protocol_lock *lock,
                      struct header *now)
{
    int error = protocol_lock_records(lock);
    if (error != 0)
        return error;
    error = live_load_to_commit(f, now);
    if (error == 0)
        error = flush_begin(f, now);
    protocol_unlock_records(lock);
    return error;
}

/* The caller holds LOCK_RECORDS. */
static int commit(const bloomfile_filter *f, int body_error, const struct flush_mark *mark)
{
    struct header now;
    int error = live_load_to_commit(f, &now);
    if (error != 0)
        return error;
    if (body_error != 0)
        return live_poison(f, &now, body_error); /* sync 4: after a failed write, poison */
    /* sync 5: the counts, without the mark. */
    struct kernel_change counted = session_take(f->live->session, now.record.sequence);
    struct record next = live_add_counts(&now, now.record, &counted);
    const int refused = mark != NULL && mark->check != NULL ? mark->check(f, mark->context) : 0;
    if (mark != NULL && refused == 0)
        memcpy(next.watermark, mark->watermark, sizeof next.watermark);
    error = flush_end(f, &now, next);
    session_taken(f->live->session, error == 0);
    return error != 0 ? error : refused;
}

int flush_and_commit(const bloomfile_filter *f, const struct flush_mark *mark)
{
    struct header now;
    struct protocol_lock lock;
    int error = protocol_lock_take(&lock, f); /* sync 1: one writer at a time */
    if (error == 0)
        error = begin_sync(f, &lock, &now);
    if (error == 0) {
        int body_error = flush_body(f, &now);
        error = protocol_lock_records(&lock);
        if (error == 0)
            error = commit(f, body_error, mark);
        if (body_error != 0)
            error = body_error;
    }
    protocol_lock_end(&lock);
    return error == 0 && live_in_doubt(f) ? BLOOMFILE_EPOISONED : error;
}

/* The caller holds LOCK_SYNCS, shared. So no writer is syncing, and a mark was left by a writer
 * that died. The kernel may have reported a failed write to that writer alone. */
static int check_mark(const bloomfile_filter *f)
{
    struct header now;
    int error = live_load(f, &now);
    if (error != 0)
        return error;
    const bool begun =
        now.record.state == BLOOMFILE_STATE_LIVE && (now.record.flags & RECORD_SYNC_BEGUN) != 0;
    if (begun && !f->live->accept_unclean) {
        guard_distrust(f->guard, BLOOMFILE_EUNCLEAN);
        return BLOOMFILE_EUNCLEAN;
    }
    return live_in_doubt(f) ? BLOOMFILE_EPOISONED : 0;
}

static bool will_pass(int error)
{
    return error == EMFILE || error == ENFILE || error == ENOMEM;
}

/* Opens the file for writing before the sync, to be able to poison it: the kernel reports a failure
 * only once. If opening fails for a temporary reason, does not sync, so that the report remains for
 * another process. */
int flush_as_reader(const bloomfile_filter *f)
{
    struct protocol_lock lock;
    int error = protocol_lock_read(&lock, f);
    if (will_pass(lock.refused))
        error = lock.refused;
    if (error == 0) {
        error = file_flush(f->live->fd);
        error = error != 0 ? live_poison_as_reader(f, lock.fd, error) : check_mark(f);
    }
    protocol_lock_end(&lock);
    return error;
}

/* ---- Completing a seal that was interrupted. */

static int verify(const struct header *h, const uint8_t *body)
{
    struct guard guard;
    int error = guard_start(&guard, body, h->body_size, h->record.body_crc, false);
    if (error == 0)
        error = body_verify(h, body, &guard, 1, NULL);
    guard_release(&guard);
    return error;
}

/* The caller holds the locks. Reads the header again, because another process may have completed
 * the seal. */
static int complete_seal(int fd, const struct file_identity *own, const struct map *map,
                         struct header *h)
{
    struct header_faults faults = { 0 };
    uint8_t bytes[HEADER_MAX];
    memcpy(bytes, map->bytes, sizeof bytes);
    decode_header(bytes, map->base_size, h, &faults);
    if (!decode_seal_unfinished(h, &faults))
        return faults.first;
    int error = verify(h, map->bytes + h->body_offset);
    if (error == 0)
        error = map_sync(map, HEADER_MAX); /* complete 1: the record in force may not be on disk */
    if (error == 0)                        /* complete 2: its bytes over the other record */
        error = record_write(fd, own, h, &h->record, map->bytes, h->in_force, 1 - h->in_force);
    return error != 0 ? error : map_sync(map, HEADER_MAX); /* complete 3: to disk */
}

int seal_recovery_complete(int fd, struct header *h)
{
    struct map map;
    const uint64_t size = geometry_of(h->layout, h->m, h->header_size).image_size;
    struct file_identity own;
    int error = file_identify(fd, &own);
    if (error == 0)
        error = lock_try(fd, LOCK_WRITERS, true);
    if (error != 0)
        return error;
    error = lock_wait(fd, LOCK_RECORDS, 1);
    if (error == 0) {
        error = map_file(&map, fd, 0, size, (struct map_wish){ .writable = true });
        if (error == 0) {
            error = complete_seal(fd, &own, &map, h);
            map_release(&map);
        }
        lock_drop(fd, LOCK_RECORDS, 1);
    }
    lock_drop(fd, LOCK_WRITERS, 1);
    return error;
}
