/* SPDX-License-Identifier: MIT
 * Detection of changed files: device, inode, size, times and header are compared with the
 * opening. */
#include "live/file_change.h"

#include <errno.h>
#include <unistd.h>

#include "live/join.h"
#include "live/records.h"
#include "os/file.h"
#include "os/path.h"

#define SEALING_SECONDS 2 /* nearly every sealing writes for less time than this */

/* ---- the file */

/* The time of the last change of contents, mode, owner or links, as one number to compare. */
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

/* Checks the mapped header. BLOOMFILE_ECHANGED, or the error of a live filter's records. On 0, *now
 * is the present header of a live filter. */
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
    const int error = f->live != NULL ? live_load(f, now) : 0;
    return error == BLOOMFILE_EHEADER ? BLOOMFILE_ECHANGED : error;
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

/* Completing an unfinished sealing writes to the file, but does not change the contents. */
static bool was_rewritten(const bloomfile_filter *f, const struct stat *now)
{
    return now->st_size != f->file.size ||
           (f->header.records_identical && !same_time(now->st_mtim, f->file.modified));
}

/* A live file is on a local file system, where stat() is always up to date. */
static int stat_path(const bloomfile_filter *f, struct stat *now)
{
    if (f->file.final)
        return file_stat_path_now(f->path, now);
    return stat(f->path, now) == 0 ? 0 : errno;
}

/* The mapped file may have another name now, or no name. Then the path says nothing about it. */
bool changed_in_place(const bloomfile_filter *f)
{
    struct stat now;
    const struct file_looks *then = &f->file;
    if (f->path == NULL || !then->final || f->map.copied || stat_path(f, &now) != 0 ||
        now.st_dev != then->device || now.st_ino != then->inode)
        return false;
    if (was_rewritten(f, &now))
        return true;
    guard_renew(f->guard, stamp_of(&now));
    return false;
}

/* Looks at the header of a copied file. A copy does not keep the inode, so a new file may have its
 * number; and within one tick of the file system's clock the times may also be the same. */
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

/* Whether the file was modified within SEALING_SECONDS. Then a sealing may have ended between two
 * steps of the opening, and would look like a later change. */
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

/* Whether the file system shows a change. Only the size of a live file is constant. */
static bool file_changed(const struct file_looks *then, const struct stat *now)
{
    if (now->st_dev != then->device || now->st_ino != then->inode || now->st_size != then->size)
        return true;
    return then->final &&
           !(same_time(now->st_mtim, then->modified) && same_time(now->st_ctim, then->touched));
}

/* Whether it was sealed since it was opened live. A new handle would check pages. */
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
    /* Not joined since a fork: a lock of the parent does not show through the opening they
     * share. */
    int error = file_open_again(f->live->fd, false, &fd);
    if (error != 0)
        return error;
    error = join_find_abandoned(fd, now, abandoned);
    close(fd);
    return error;
}

/* Whether a writer was killed during a sync, or failed to poison the file. The kernel may have
 * reported a failed write to it. Other writers get that report at their next sync; readers do
 * not. */
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

/* Looks for changed bytes first: they make all pages wrong, not only those found damaged. */
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
