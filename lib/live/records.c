/* SPDX-License-Identifier: MIT
 * The records of a live file, written with pwrite() and read through the mapping. */
#include "live/records.h"

#include <bloomfile_inspect.h>
#include <errno.h>
#include <sched.h>
#include <string.h>

#include "format/decode.h"
#include "live/lock_bytes.h"

/* Raises *highest to `value`. Returns true if `value` is below it. */
static bool fell(atomic_uint_least64_t *highest, uint64_t value)
{
    uint64_t seen = atomic_load(highest);
    while (seen < value && !atomic_compare_exchange_weak(highest, &seen, value))
        ;
    return value < seen;
}

/* Returns whether the record is older than the records read before. Then another file, or an older
 * copy of this file, was copied over it; or both records were overwritten during the read, and the
 * caller reads again. */
static bool went_back(const bloomfile_filter *f, const struct record *r)
{
    struct session *s = f->live->session;
    if (r->state != BLOOMFILE_STATE_SEALED && !header_same_identity(r, &f->header.record))
        return true;
    /* A failed seal is poisoned with a sequence below that of the sealed record. */
    if (r->state == BLOOMFILE_STATE_POISONED)
        return false;
    if (fell(&s->sequences, r->sequence) || r->sequence < f->header.record.sequence)
        return true;
    /* Only the last writer to leave marks the file clean, and this writer has not left. */
    if (r->state == BLOOMFILE_STATE_LIVE && atomic_load(&s->joined) && header_is_clean(r))
        return true;
    /* The count of one bits never decreases, unless keys are removed or counts were lost. */
    const bool only_more =
        !layout_of(f->header.layout)->counts && (r->flags & RECORD_N_ESTIMATED) == 0;
    return only_more && (fell(&s->ones, r->ones) || r->ones < f->header.record.ones);
}

static bool header_is_there(const bloomfile_filter *f)
{
    return map_is_there(&f->map, f->live->header, HEADER_MAX);
}

int live_load(const bloomfile_filter *f, struct header *now)
{
    struct header_faults faults;
    bool back = false;
    if (!header_is_there(f))
        return BLOOMFILE_ECHANGED;
    for (int tries = 0; tries < HEADER_TRIES; tries++) {
        uint8_t bytes[HEADER_MAX];
        memcpy(bytes, f->live->header, sizeof bytes);
        faults = (struct header_faults){ 0 };
        decode_header(bytes, f->geometry.image_size, now, &faults);
        back = faults.first == 0 && now->crc == f->header.crc && went_back(f, &now->record);
        if (faults.first != BLOOMFILE_ERECORD && !back)
            break;
        sched_yield();
    }
    if (back || now->identities_differ)
        return BLOOMFILE_ECHANGED;
    if (faults.first == BLOOMFILE_ERECORD || faults.first == BLOOMFILE_ESTATE)
        return faults.first;
    return faults.first != 0 || now->crc != f->header.crc ? BLOOMFILE_ECHANGED : 0;
}

int live_load_to_commit(const bloomfile_filter *f, struct header *now)
{
    int error = live_load(f, now);
    if (error == BLOOMFILE_ECHANGED)
        guard_distrust(f->guard, error);
    if (error != 0 || now->record.state == BLOOMFILE_STATE_LIVE)
        return error;
    if (now->record.state == BLOOMFILE_STATE_SEALED)
        return BLOOMFILE_ESEALED;
    /* The file may be poisoned because this handle found a copy. */
    const bool copied = atomic_load(&f->guard->error) == BLOOMFILE_ECHANGED;
    return copied ? BLOOMFILE_ECHANGED : BLOOMFILE_EPOISONED;
}

/* ---- committing */

/* Where records are written. */
struct record_place {
    int fd;
    const struct file_identity *own;
    const struct map *map; /* of the header, at least, and writable */
};

static struct record_place place_of(const bloomfile_filter *f)
{
    return (struct record_place){ f->live->fd, &f->live->own, &f->map };
}

/* commit 2: overwrites the record that is not in force: if the write is torn, the other record is
 * whole. */
static int write_record(struct record_place at, const struct header *now, const struct record *next)
{
    struct record r = *next;
    if (next->sequence == HEADER_SEALED_SEQUENCE)
        return EOVERFLOW;
    if (header_is_layer(now) && header_has_successor(at.map->bytes))
        r.flags |= RECORD_SUCCEEDED; /* the bit is permanent, even if the record that first had it
                                        was torn */
    return record_write(at.fd, at.own, now, &r, at.map->bytes, now->in_force, 1 - now->in_force);
}

/* poison 1: overwrite the record that is not in force; poison 2: sync; poison 3: overwrite the
 * other record; poison 4: sync. Continues after errors, because one poisoned record is enough. */
static void poison(struct record_place at, struct header *now)
{
    now->record.state = BLOOMFILE_STATE_POISONED;
    for (unsigned slots = 0; slots < 2; slots++) {
        struct record poisoned = now->record;
        poisoned.sequence += 1 + slots;
        write_record(at, now, &poisoned);
        map_sync(at.map, HEADER_MAX);
        now->in_force = 1 - now->in_force;
    }
}

int live_poison(const bloomfile_filter *f, struct header *now, int error)
{
    guard_distrust(f->guard, BLOOMFILE_EPOISONED);
    poison(place_of(f), now);
    return error;
}

static void poison_at(const bloomfile_filter *f, int fd)
{
    struct map map;
    struct header now;
    if (lock_wait(fd, LOCK_RECORDS, 1) != 0) /* fails if the descriptor is not writable */
        return;
    if (map_file(&map, fd, 0, HEADER_MAX, (struct map_wish){ .writable = true }) == 0) {
        if (live_load_to_commit(f, &now) == 0)
            poison((struct record_place){ fd, &f->live->own, &map }, &now);
        map_release(&map);
    }
}

int live_poison_as_reader(const bloomfile_filter *f, int fd, int error)
{
    guard_distrust(f->guard, BLOOMFILE_EPOISONED);
    poison_at(f, fd);
    return error;
}

/* commit 1: sync the record in force, unless it is on disk. Its writer may have been killed before
 * it synced; overwriting the other record could then leave no whole record on disk. */
static int sync_record_in_force(const bloomfile_filter *f, struct header *now)
{
    if (f->live->session->durable == now->record.sequence + 1)
        return 0;
    int error = map_sync(&f->map, HEADER_MAX);
    if (error != 0)
        return live_poison(f, now, error);
    f->live->session->durable = now->record.sequence + 1;
    return 0;
}

int live_make_durable(const bloomfile_filter *f)
{
    struct header now;
    int error = live_load_to_commit(f, &now);
    return error != 0 ? error : sync_record_in_force(f, &now);
}

bool live_was_copied_over(const bloomfile_filter *f, const struct header *now)
{
    const uint8_t *image = f->live->header;
    const struct record *kept = &now->record;
    return !header_is_there(f) || !header_is_still(now, image) ||
           shared_load64(header_sequence(image, now->in_force)) != kept->sequence ||
           memcmp(header_identity(image, now->in_force), kept->identity, sizeof kept->identity) !=
               0;
}

int live_check_kept(const bloomfile_filter *f, const struct header *now)
{
    if (!live_was_copied_over(f, now))
        return 0;
    guard_distrust(f->guard, BLOOMFILE_ECHANGED);
    return BLOOMFILE_ECHANGED;
}

/* Under another static header the records of this file are not intact, and hide nothing. */
int live_poison_copy(const bloomfile_filter *f, struct header *now)
{
    guard_distrust(f->guard, BLOOMFILE_ECHANGED);
    for (size_t i = 0; i < sizeof now->record.identity; i++)
        now->record.identity[i] ^= 0xFF; /* other handles return ECHANGED too, and rescue nothing */
    if (header_is_there(f) && header_is_still(now, f->live->header))
        poison(place_of(f), now);
    return BLOOMFILE_ECHANGED;
}

int live_write(const bloomfile_filter *f, struct header *now, struct record next)
{
    if (now->record.sequence >= LIVE_LAST_SEQUENCE)
        return EOVERFLOW;
    next.sequence = now->record.sequence + 1;
    int error = sync_record_in_force(f, now);
    if (error == 0)
        error = live_check_kept(f, now);
    if (error == 0)
        error = write_record(place_of(f), now, &next);
    if (error == 0 && live_was_copied_over(f, now))
        error = live_poison_copy(f, now);
    if (error != 0)
        return error;
    now->record = next;
    now->in_force = 1 - now->in_force;
    atomic_store(&f->live->session->sequences, next.sequence);
    return 0;
}

int live_commit(const bloomfile_filter *f, struct header *now, struct record next)
{
    struct header before = *now;
    int error = live_write(f, now, next);
    if (error != 0)
        return error;
    error = map_sync(&f->map, HEADER_MAX); /* commit 3: to disk */
    if (error != 0)
        return live_poison(f, &before, error); /* commit 4: after a failed write, poison */
    f->live->session->durable = now->record.sequence + 1;
    return 0;
}

/* value + by, clamped to [0, limit]. If it is clamped, counts are missing, and *flags gets
 * RECORD_N_ESTIMATED. */
static uint64_t moved_count(uint64_t value, int64_t by, uint64_t limit, uint32_t *flags)
{
    uint64_t sum;
    bool out_of_range = by < 0 ? __builtin_sub_overflow(value, -(uint64_t)by, &sum)
                               : __builtin_add_overflow(value, (uint64_t)by, &sum);
    if (!out_of_range && sum <= limit)
        return sum;
    *flags |= RECORD_N_ESTIMATED;
    return by < 0 ? 0 : limit;
}

/* Sums may be out of range, because the counts of a killed writer are missing, and because a writer
 * may remove a key before the writer that added it commits. */
struct record live_add_counts(const struct header *h, struct record r,
                              const struct kernel_change *counted)
{
    r.n = moved_count(r.n, counted->keys, UINT64_MAX, &r.flags);
    r.ones = moved_count(r.ones, counted->ones, h->m, &r.flags);
    r.overflow = moved_count(r.overflow, counted->overflow, r.ones, &r.flags);
    return r;
}

int live_load_counted(const bloomfile_filter *f, struct header *now)
{
    struct header loaded;
    pthread_mutex_lock(&f->live->session->counts);
    const int error = live_load(f, &loaded);
    if (error == 0)
        now->record = loaded.record;
    const struct kernel_change missing = session_missing(f->live->session, now->record.sequence);
    pthread_mutex_unlock(&f->live->session->counts);
    now->record = live_add_counts(now, now->record, &missing);
    return error;
}

int live_header_now(const bloomfile_filter *f, struct header *h)
{
    struct header now;
    *h = f->header;
    if (f->live == NULL)
        return 0;
    if (f->live->writing)
        return live_load_counted(f, h);
    const int error = live_load(f, &now);
    if (error == 0)
        h->record = now.record;
    return error;
}

int live_count(const bloomfile_filter *f, struct record *counted)
{
    struct session *s = f->live->session;
    struct session_last *last = &s->last;
    struct header now;
    uint64_t sequences[2];
    int error = 0;
    pthread_mutex_lock(&s->counts);
    for (unsigned slot = 0; slot < 2; slot++)
        sequences[slot] = shared_load64(header_sequence(f->live->header, slot));
    if (!last->known || memcmp(sequences, last->sequences, sizeof sequences) != 0) {
        error = live_load(f, &now);
        last->known = error == 0;
        if (error == 0)
            last->record = now.record;
        memcpy(last->sequences, sequences, sizeof sequences);
    }
    const struct kernel_change missing = session_missing(s, last->record.sequence);
    pthread_mutex_unlock(&s->counts);
    if (error == 0)
        *counted = live_add_counts(&f->header, last->record, &missing);
    return error;
}

/* ---- Records are written by pwrite(): a full or failing disk is then an error, where a store to
 * the mapping would raise SIGBUS. */

int record_write(int fd, const struct file_identity *own, const struct header *h,
                 const struct record *r, const uint8_t *image, unsigned kept, unsigned slot)
{
    uint8_t bytes[HEADER_RECORD_MAX];
    header_encode_record(h, r, image + header_record_offset(h, kept), bytes);
    const int error = file_check(fd, own);
    return error != 0 ? error
                      : file_write(fd, header_record_offset(h, slot), bytes, header_record_size(h));
}
