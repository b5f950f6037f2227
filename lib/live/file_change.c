/* SPDX-License-Identifier: MIT
 * Detecting changed files: device, inode, size, times and header are compared with their values at
 * opening. */
#include "live/file_change.h"

#include <errno.h>
#include <unistd.h>

#include "live/join.h"
#include "live/records.h"
#include "os/file.h"
#include "os/path.h"

#define SEALING_SECONDS 2 /* longer than nearly every seal takes to write */

/* ---- the file */

/* The time of the last change of contents, mode, owner or link count (ctime), as one number. */
static uint64_t stamp_of(const struct stat *status)
{
    return (uint64_t)status->st_ctim.tv_sec * 1000000000u + (uint64_t)status->st_ctim.tv_nsec;
}

static void note_looks(bloomfile_filter *f, const struct stat *status)
{
    atomic_init(&f->guard->stamp, stamp_of(status));
    f->file = (struct file_looks){ .device = status->st_dev,
                                   .inode = status->st_ino,
                                   .size = status->st_size,
                                   .final = f->header.record.state == BLOOMFILE_STATE_SEALED,
                                   .modified = status->st_mtim,
                                   .touched = status->st_ctim };
}

int changed_note(bloomfile_filter *f, const char *path, const struct stat *status)
{
    f->path = path_to_keep(path, &f->folder);
    note_looks(f, status);
    return f->path == NULL ? errno : 0;
}

int changed_note_layer(bloomfile_filter *layer, const bloomfile_filter *first)
{
    if (first->path == NULL || first->map.copied)
        return 0;
    layer->path = strdup(first->path);
    layer->file = first->file;
    atomic_init(&layer->guard->stamp, atomic_load(&first->guard->stamp));
    return layer->path == NULL ? ENOMEM : 0;
}

void changed_note_sealed(bloomfile_filter *f)
{
    struct stat status;
    f->header.records_identical = true;
    if (f->path != NULL && file_stat_now(f->live->fd, &status) == 0)
        note_looks(f, &status);
}

/* ---- its contents */

static int check_file_size(const bloomfile_filter *f)
{
    off_t size;
    const int error = file_check_size(f->live->fd, &f->live->own, &size);
    if (error != 0)
        return error;
    return size == (off_t)f->geometry.image_size ? 0 : BLOOMFILE_ECHANGED;
}

/* Checks the mapped header. Returns 0, BLOOMFILE_ECHANGED, or the error of a live filter's records.
 * On 0, *now is the current header of a live filter. */
static int check_header(const bloomfile_filter *f, struct header *now)
{
    if (f->map.copied)
        return 0;
    if (!map_is_there(&f->map, f->map.bytes, f->header.header_size))
        return BLOOMFILE_ECHANGED;
    const int error_of_size = f->live != NULL ? check_file_size(f) : 0;
    if (error_of_size != 0)
        return error_of_size;
    if (!header_is_still(&f->header, f->map.bytes))
        return BLOOMFILE_ECHANGED;
    return f->live != NULL ? live_load(f, now) : 0;
}

bool changed_header(const bloomfile_filter *f)
{
    struct header now;
    return check_header(f, &now) == BLOOMFILE_ECHANGED;
}

static bool same_time(struct timespec a, struct timespec b)
{
    return a.tv_sec == b.tv_sec && a.tv_nsec == b.tv_nsec;
}

/* Completing an unfinished seal writes to the file, but does not change its contents. */
static bool was_rewritten(const bloomfile_filter *f, const struct stat *now)
{
    return now->st_size != f->file.size ||
           (f->header.records_identical && !same_time(now->st_mtim, f->file.modified));
}

/* Without the end, reading the body would raise SIGBUS. */
static bool end_is_there(const bloomfile_filter *f)
{
    return map_is_there(&f->map, f->map.bytes + f->geometry.image_size - 1, 1);
}

/* A live file is on a local file system, where stat() is always up to date. */
static int stat_path(const bloomfile_filter *f, struct stat *now)
{
    if (f->file.final)
        return file_stat_path_now(f->path, now);
    return stat(f->path, now) == 0 ? 0 : errno;
}

/* Returns whether the end of the body is missing, or a page that answers relied on is wrong now. */
static bool pages_changed(const bloomfile_filter *f)
{
    if (!end_is_there(f))
        return true;
    guard_recheck(f->guard);
    return atomic_load(&f->guard->error) == BLOOMFILE_ECHANGED;
}

/* If the path names another file now, its size and times are not those of the mapped file. If they
 * cannot be compared, because the path cannot be looked up or a seal may have been completed, the
 * pages are checked instead. */
bool changed_in_place(const bloomfile_filter *f)
{
    struct stat now;
    const struct file_looks *then = &f->file;
    if (f->path == NULL || !then->final || f->map.copied)
        return false;
    const int error = stat_path(f, &now);
    if (error != 0) {
        if (file_name_is_gone(error, -1))
            return false;
        guard_forget(f->guard);
        return pages_changed(f);
    }
    if (now.st_dev != then->device || now.st_ino != then->inode)
        return false;
    if (was_rewritten(f, &now))
        return true;
    guard_renew(f->guard, stamp_of(&now));
    return !same_time(now.st_mtim, then->modified) && pages_changed(f);
}

/* Compares the header of the file at the path, for a handle with a copy (BLOOMFILE_OPEN_COPY). A
 * copy holds no reference to the inode, so a new file may reuse its number and, within one tick of
 * the file system's clock, have the same times. */
static bool changed_behind_copy(const bloomfile_filter *f)
{
    uint8_t bytes[HEADER_MAX];
    int fd;
    if (!f->map.copied || file_open(f->path, false, &fd) != 0)
        return false;
    const bool changed =
        file_read(fd, 0, bytes, f->header.header_size) != 0 || !header_is_still(&f->header, bytes);
    close(fd);
    return changed;
}

/* Returns whether the file was modified within the last SEALING_SECONDS. Then a seal may have ended
 * between two steps of the opening, and would look like a later change. */
static bool was_sealed_just_now(const bloomfile_filter *f)
{
    struct timespec now;
    return clock_gettime(CLOCK_REALTIME_COARSE, &now) != 0 ||
           f->file.modified.tv_sec + SEALING_SECONDS >= now.tv_sec;
}

bool changed_while_opened(const bloomfile_filter *f)
{
    return f->file.final && was_sealed_just_now(f) && changed_in_place(f);
}

/* Returns whether stat() shows a change. For a live file only the size is compared. */
static bool file_changed(const struct file_looks *then, const struct stat *now)
{
    if (now->st_dev != then->device || now->st_ino != then->inode || now->st_size != then->size)
        return true;
    return then->final &&
           !(same_time(now->st_mtim, then->modified) && same_time(now->st_ctim, then->touched));
}

/* Returns whether the file was sealed since it was opened live. A new handle could verify its
 * pages. */
static bool sealed_since(const bloomfile_filter *f)
{
    struct header now;
    return f->live != NULL && live_load(f, &now) == 0 && now.record.state == BLOOMFILE_STATE_SEALED;
}

bool changed_is_stale(const bloomfile_filter *f)
{
    struct stat now;
    if (f->path == NULL)
        return false;
    return stat_path(f, &now) != 0 || file_changed(&f->file, &now) || changed_header(f) ||
           changed_behind_copy(f) || sealed_since(f);
}

int changed_or_damaged_so_far(const bloomfile_filter *f)
{
    int error = atomic_load(&f->guard->error);
    bool poisoned = error == 0 && f->live != NULL && live_in_doubt(f);
    return poisoned ? BLOOMFILE_EPOISONED : error;
}

static int find_abandoned(const bloomfile_filter *f, const struct header *now, bool *abandoned)
{
    int fd;
    if (!f->live->writing)
        return join_find_abandoned(f->live->fd, now, abandoned);
    /* A child of fork() that has not joined: a lock that the parent holds on the shared description
     * would not be reported as held. */
    int error = file_open_again(f->live->fd, false, &fd);
    if (error != 0)
        return error;
    error = join_find_abandoned(fd, now, abandoned);
    close(fd);
    return error;
}

/* Checks whether a writer was killed during a sync, or could not poison the file. The kernel may
 * have reported a failed write to that writer. Other writers get the report at their next sync;
 * readers do not. */
static int check_abandoned(const bloomfile_filter *f, const struct header *now)
{
    bool abandoned = false;
    if ((now->record.flags & RECORD_SYNC_BEGUN) == 0 || f->live->accept_unclean ||
        atomic_load(&f->live->session->joined))
        return 0;
    int error = find_abandoned(f, now, &abandoned);
    if (!abandoned)
        return error;
    guard_distrust(f->guard, BLOOMFILE_EUNCLEAN);
    return BLOOMFILE_EUNCLEAN;
}

/* Looks for changes first: a changed file makes all pages wrong, not only those known to be
 * damaged. */
int changed_or_damaged(const bloomfile_filter *f)
{
    struct header now;
    int error = check_header(f, &now);
    if (error == 0 && changed_in_place(f))
        error = BLOOMFILE_ECHANGED;
    if (error != 0) {
        guard_distrust(f->guard, error);
        return error;
    }
    error = changed_or_damaged_so_far(f);
    return error == 0 && f->live != NULL ? check_abandoned(f, &now) : error;
}

bool changed_now(const bloomfile_filter *f)
{
    if (!changed_header(f) && !changed_in_place(f) && end_is_there(f))
        return false;
    guard_distrust(f->guard, BLOOMFILE_ECHANGED);
    return true;
}

int changed_before_reading(const bloomfile_filter *f)
{
    return changed_now(f) || atomic_load(&f->guard->error) == BLOOMFILE_ECHANGED
               ? BLOOMFILE_ECHANGED
               : 0;
}
