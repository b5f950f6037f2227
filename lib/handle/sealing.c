/* SPDX-License-Identifier: MIT
 * Sealing a live file in place. */
#include "handle/sealing.h"

#include <bloomfile_live.h>
#include <string.h>

#include "handle/lookup.h"
#include "image/body.h"
#include "live/file_change.h"
#include "live/flush.h"
#include "live/join.h"
#include "live/protocol_lock.h"
#include "live/records.h"

/* Turns the handle into the handle of a sealed filter, but keeps f->live for the last steps. */
static void become_sealed(bloomfile_filter *f, const struct header *sealed)
{
    f->header = *sealed;
    guard_restart(f->guard, sealed->record.body_crc);
    f->live->writing = false;
    lookup_sealed(f);
}

/* Checks that the body has exactly as many set bits as its writers counted. If some counts are
 * missing, more bits are accepted; in the counting layout, also fewer. */
static int check_counts(const bloomfile_filter *f, const struct record *recorded,
                        const struct record *found)
{
    const bool all_told = recorded->writers <= 1 && (recorded->flags & RECORD_N_ESTIMATED) == 0;
    const bool lost = !layout_of(f->header.layout)->counts && found->ones < recorded->ones;
    const bool differ = recorded->ones != found->ones || recorded->overflow != found->overflow;
    if (!(all_told ? differ : lost))
        return 0;
    guard_distrust(f->guard, BLOOMFILE_EBODY);
    return BLOOMFILE_EBODY;
}

/* Steps seal 1 to seal 6 of live.md, section 7. The caller holds LOCK_WRITERS, LOCK_SYNCS and
 * LOCK_RECORDS. The sealed record is written once body and checksums are on disk: first over the
 * record that is not in force, so that a crash leaves one whole record, then over the other. If the
 * second write is torn, the next writer that opens the file completes it. */
static int seal(bloomfile_filter *f, const uint8_t *watermark)
{
    struct header now;
    int error = live_load_to_commit(f, &now);
    if (error == 0)
        error = flush_begin(f, &now);
    if (error != 0)
        return error;
    struct header sealed = now;
    struct kernel_change counted = session_counted(f->live->session);
    sealed.in_force = 1 - now.in_force;
    sealed.record = flush_ended(live_add_counts(&now, now.record, &counted));
    const struct record recorded = sealed.record;
    if (recorded.writers > 1)
        sealed.record.flags |= RECORD_N_ESTIMATED;
    if (watermark != NULL)
        memcpy(sealed.record.watermark, watermark, sizeof sealed.record.watermark);

    map_expect(&f->map, MAP_SCAN);
    /* seal 1: the page checksums. */
    image_sum(&sealed, map_bytes(&f->map) + now.body_offset);
    if ((sealed.record.flags & RECORD_N_ESTIMATED) != 0)
        image_estimate_keys(&sealed);
    error = flush_body(f, &now); /* seal 2: the body is on disk */
    map_expect(&f->map, MAP_LOOKUPS);
    if (error != 0)
        return live_poison(f, &now, error);
    error = live_check_kept(f, &now); /* of a copy, neither the sums nor the counts are known */
    if (error != 0)
        return error;
    error = check_counts(f, &recorded, &sealed.record);
    if (error == 0) /* seal 3: over the record that is not in force */
        error = record_write(f->live->fd, &f->live->own, &sealed, &sealed.record, f->map.bytes,
                             now.in_force, 1 - now.in_force);
    if (error != 0) {
        flush_drop_mark(f, &now); /* ends the sync that flush_body() began */
        return error;
    }
    error = map_sync(&f->map, HEADER_MAX); /* seal 4: to disk before the other is written */
    if (error != 0)
        return live_poison(f, &now, error);
    if (live_was_copied_over(f, &now))
        return live_poison_copy(f, &now);
    become_sealed(f, &sealed);
    /* seal 5: the same bytes over the other record; seal 6: to disk. */
    error = record_write(f->live->fd, &f->live->own, &sealed, &sealed.record, f->map.bytes,
                         now.in_force, now.in_force);
    if (error == 0 && live_was_copied_over(f, &sealed))
        return live_poison_copy(f, &now);
    return error != 0 ? error : map_sync(&f->map, HEADER_MAX);
}

static int seal_locked(bloomfile_filter *f, const uint8_t *watermark)
{
    struct protocol_lock lock;
    int error = protocol_lock_take(&lock, f);
    if (error == 0)
        error = protocol_lock_records(&lock);
    if (error == 0)
        error = seal(f, watermark);
    protocol_lock_end(&lock);
    return error;
}

int sealing(bloomfile_filter *f, const uint8_t *watermark)
{
    uint64_t offset;
    if (header_is_layer(&f->header))
        return BLOOMFILE_EISSERIES;
    int error = f->live->writing ? changed_before_reading(f) : BLOOMFILE_EREADONLY;
    if (error == 0)
        error = join_writable(f);
    if (error == 0)
        error = file_check(f->live->fd, &f->live->own);
    const bool sole = f->live->session->sole != NULL;
    if (error == 0 && !sole)
        error = lock_try(f->live->fd, LOCK_WRITERS, true); /* seal 0: no other writer */
    if (error != 0)
        return error;
    /* Checked before LOCK_SYNCS is taken: while that lock is held, readers mistake an abandoned
     * mark for a sync in progress. */
    if (body_padding_is_clean(&f->header, f->view.body, &offset))
        error = seal_locked(f, watermark);
    else
        guard_distrust(f->guard, error = BLOOMFILE_EBODY);
    if (!f->live->writing)
        join_unlock_writers(f);
    else if (!sole)
        lock_try(f->live->fd, LOCK_WRITERS, false);
    if (error == 0)
        changed_note_sealed(f);
    if (error == 0)
        error = changed_or_damaged(f);
    if (error == 0)
        error = join_check_path(f);
    if (!f->live->writing) {
        live_free(f->live);
        f->live = NULL;
    }
    return error;
}
