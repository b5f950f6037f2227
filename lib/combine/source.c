/* SPDX-License-Identifier: MIT
 * A filter that a new file is made from, read a stretch at a time out of the mapping. */
#include "combine/source.h"

#include <errno.h>

#include "handle/file_change.h"
#include "handle/sync.h"
#include "image/image.h"
#include "live/join.h"
#include "live/records.h"

/* ---- the destination */

static bool is_file(const struct stat *status, dev_t device, ino_t inode)
{
    return status->st_dev == device && status->st_ino == inode;
}

static int find(const char *path, struct stat *status, bool *exists)
{
    *exists = stat(path, status) == 0;
    return *exists || errno == ENOENT || errno == ENOTDIR ? 0 : errno;
}

/* The path of a source leads to the old file by now, and did not when it was opened. */
static int check_name(const bloomfile *f, const struct stat *old)
{
    struct stat now;
    bool exists;
    if (f->path == NULL || is_file(old, f->file.device, f->file.inode))
        return 0;
    const int error = find(f->path, &now, &exists);
    if (error != 0)
        return error;
    return exists && is_file(old, now.st_dev, now.st_ino) ? BLOOMFILE_EREPLACED : 0;
}

int source_destination(struct destination *to, const bloomfile *const *sources, size_t count)
{
    int error = 0;
    if (to->kind != DESTINATION_FILE || to->path == NULL)
        return 0;
    for (size_t i = 0; i < count && !to->only.wanted; i++)
        to->only = sources[i]->only;
    if (!to->only.wanted)
        error = find(to->path, &to->only.file, &to->only.exists);
    to->only.wanted = true;
    for (size_t i = 0; error == 0 && i < count && to->only.exists; i++)
        error = check_name(sources[i], &to->only.file);
    return error;
}

/* ---- reading */

/* The header with the record in force and what this process has counted since. *others: writers
 * may have counted more. */
static int load(const bloomfile *f, struct header *h, bool *others)
{
    struct header now;
    uint32_t own = 0;
    *h = f->header;
    int error = 0;
    if (f->writing) {
        error = live_load_counted(f, h);
        own = atomic_load(&f->session->joined); /* a child of fork() may not have */
    } else if (f->live != NULL) {
        error = live_load(f, &now);
        if (error == 0)
            h->record = now.record;
    }
    *others = h->record.writers > own;
    return error;
}

int source_describe(const bloomfile *f, struct header *h)
{
    bool others;
    int error = load(f, h, &others);
    h->record.flags = others ? RECORD_N_ESTIMATED : h->record.flags & RECORD_N_ESTIMATED;
    h->header_size = GEOMETRY_FILE_HEADER;
    h->provenance &= SOURCE_PROVENANCE;
    image_describe(h);
    return error;
}

int source_start(struct source *s, const bloomfile *f)
{
    *s = (struct source){ .f = f };
    body_check_start(&s->check, &f->header, f->view.body, f->guard);
    map_expect(&f->map, MAP_SCAN);
    if (f->live == NULL)
        return 0;
    struct header then;
    bool others;
    s->counted = load(f, &then, &others) == 0;
    /* An unclean one that is accepted may have lost bits, until a writer joins. */
    if (f->accept_unclean)
        s->counted = s->counted && join_check_clean(f->fd, &then, false) == 0;
    s->counted_all = s->counted && !others && (then.record.flags & RECORD_N_ESTIMATED) == 0;
    s->recorded = then.record;
    return sync_prepare(f);
}

int source_status(const struct source *s)
{
    return changed_or_damaged_so_far(s->f);
}

/* size: whole pages. */
static void read_live(struct source *s, uint8_t *to, size_t size)
{
    const uint8_t *from = s->f->view.body + s->at;
    const uint64_t used = s->f->geometry.need - s->at;
    for (size_t i = 0; i < size; i += 8)
        put64(to + i, shared_load64(from + i));
    s->f->kernel->tally(to, used < size ? (size_t)used : size, &s->tally);
    if (s->at + size == s->f->geometry.body_size)
        s->stained = !body_last_page_is_clean(&s->f->header, to + size - CHECKSUM_PAGE);
}

size_t source_next(const struct source *s, uint64_t size)
{
    return size - s->at < SOURCE_STRETCH ? (size_t)(size - s->at) : SOURCE_STRETCH;
}

void source_take(struct source *s, uint8_t *to, size_t size)
{
    const size_t pages = (size + CHECKSUM_PAGE - 1) / CHECKSUM_PAGE;
    if (s->f->live != NULL)
        read_live(s, to, pages * CHECKSUM_PAGE);
    else
        body_check_copy(&s->check, to, pages);
    s->at += size;
}

/* Whether the body has other bits than its writers have set. While it was read they may have set
 * more, or removed keys; unless the same record is in force, of a file that nobody had open. */
static bool lost_bits(const struct source *s)
{
    struct header now;
    const struct record *then = &s->recorded;
    if (s->counted_all && !s->f->writing && source_describe(s->f, &now) == 0 &&
        now.record.sequence == then->sequence)
        return s->tally.ones != then->ones || s->tally.overflow != then->overflow;
    return s->counted && !layout_of(s->f->header.layout)->counts && s->tally.ones < then->ones;
}

/* A page that could not be written may have been dropped while it was read. */
static int live_verdict(const struct source *s)
{
    const bloomfile *f = s->f;
    int error = s->stained ? 0 : sync_source(f);
    if (!s->stained && error == 0)
        error = changed_or_damaged(f);
    if (error != 0 || (!s->stained && !lost_bits(s)))
        return error;
    guard_distrust(f->guard, BLOOMFILE_EBODY);
    return BLOOMFILE_EBODY;
}

int source_verdict(struct source *s)
{
    if (s->f->live != NULL)
        return live_verdict(s);
    int error = body_check_end(&s->check, NULL);
    return changed_or_damaged(s->f) == BLOOMFILE_ECHANGED ? BLOOMFILE_ECHANGED : error;
}

void source_release(struct source *s)
{
    map_expect(&s->f->map, MAP_LOOKUPS);
}
