/* SPDX-License-Identifier: MIT
 * Removing the files of a filter. All files are first checked to belong together, then removed. */
#include "series/removal.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "image/new_image.h"
#include "live/lock_bytes.h"
#include "os/file.h"
#include "os/path.h"
#include "series/files.h"

#define REMOVAL_TRIES 100 /* searches, while other processes make layers */

/* A sealed filter need not be writable: it has no writers to lock out. Opens no devices. */
static int open_layer_file(struct removal_file *file, struct header *h)
{
    if (stat(file->path, &file->status) != 0)
        return errno;
    if (!S_ISREG(file->status.st_mode) && !S_ISDIR(file->status.st_mode))
        return BLOOMFILE_ENOTREGULAR;
    int error = file_open(file->path, true, &file->fd);
    const int refused = error;
    if (error == EACCES || error == EROFS)
        error = file_open(file->path, false, &file->fd);
    if (error == 0)
        error = file_stat(file->fd, &file->status);
    if (error == 0)
        error = replaced_read_header(file->fd, (uint64_t)file->status.st_size, h);
    file->lock_error = h->record.state != BLOOMFILE_STATE_SEALED ? refused : 0;
    return error;
}

static bool removal_is_free(int error)
{
    return error == ENOENT || error == ENAMETOOLONG;
}

/* Adds the file at the path. Takes ownership of `path`. */
static int find_file(struct removal *r, char *path, struct header *h)
{
    struct removal_file *more = realloc(r->files, (r->count + 1) * sizeof *more);
    if (path == NULL || more == NULL) {
        if (more != NULL)
            r->files = more;
        free(path);
        return ENOMEM;
    }
    r->files = more;
    r->files[r->count] = (struct removal_file){ .path = path, .fd = -1 };
    int error = open_layer_file(&r->files[r->count], h);
    r->files[r->count].layer = h->layer;
    if (!removal_is_free(error))
        r->count++;
    else
        free(path);
    return error;
}

static uint64_t slots_of(const struct series *s)
{
    return s->generations != 0 ? s->generations : HEADER_MOST_LAYERS;
}

/* A dangling link may occupy the name of the next layer. */
static int check_next_name(const struct series *s, uint64_t slot)
{
    struct stat made;
    const int error = files_check_free(s->path, slot);
    char *path = error == BLOOMFILE_ESERIES ? files_path(s, slot) : NULL;
    const bool is_made = path != NULL && stat(path, &made) == 0; /* a writer has just made it */
    free(path);
    return is_made ? BLOOMFILE_EREPLACED : error;
}

static int find_layers(struct removal *r, const struct series *s, const struct header *first)
{
    int error = files_check_mount(s, 0);
    for (uint64_t slot = 1; slot < slots_of(s) && error == 0; slot++) {
        struct header h = { 0 };
        error = find_file(r, files_path(s, slot), &h);
        if (error == 0)
            error = files_check_mount(s, r->files[r->count - 1].slot = slot);
        if (error == EISDIR || error == ELOOP)
            error = BLOOMFILE_ESERIES;
        if (error == 0 && !(header_is_layer(&h) && files_same_series(&h, first) &&
                            files_slot(s, h.layer) == slot))
            error = BLOOMFILE_ESERIES;
        if (error == ENOENT && r->count == slot)
            error = check_next_name(s, slot);
        if (removal_is_free(error)) /* later names may still exist */
            error = 0;
    }
    return error;
}

/* Compares files for qsort(): the newest first. */
static int by_age(const void *a, const void *b)
{
    const struct removal_file *one = a, *other = b;
    return (one->layer < other->layer) - (one->layer > other->layer);
}

/* Moves the file of the first name from the start of the list to its end. */
static void order_files(struct removal *r)
{
    const struct removal_file first = r->files[0];
    memmove(r->files, r->files + 1, (r->count - 1) * sizeof first);
    r->files[r->count - 1] = first;
    qsort(r->files, r->count - 1, sizeof first, by_age);
}

static const struct removal_file *file_of_slot(const struct removal *r, uint64_t slot)
{
    for (size_t i = 0; i < r->count; i++)
        if (r->files[i].slot == slot)
            return &r->files[i];
    return NULL;
}

bool removal_has(const struct removal *r, uint64_t slot)
{
    return file_of_slot(r, slot) != NULL;
}

int removal_lock(const struct removal *r)
{
    int error = 0;
    for (size_t i = 0; i < r->count && error == 0; i++) {
        error = r->files[i].lock_error;
        if (error == 0 && file_is_writable(r->files[i].fd))
            error = lock_try(r->files[i].fd, LOCK_WRITERS, true);
    }
    return error;
}

static int check_named(const struct removal_file *file)
{
    struct stat now;
    if (stat(file->path, &now) != 0)
        return errno;
    const bool same = now.st_dev == file->status.st_dev && now.st_ino == file->status.st_ino;
    return same ? 0 : BLOOMFILE_EREPLACED;
}

static int check_slot(const struct removal *r, const struct series *s, uint64_t slot)
{
    const struct removal_file *known = file_of_slot(r, slot);
    if (known != NULL)
        return check_named(known);
    char *path = files_path(s, slot);
    if (path == NULL)
        return ENOMEM;
    const int error = access(path, F_OK) == 0 ? BLOOMFILE_EREPLACED : errno;
    free(path);
    return removal_is_free(error) ? 0 : error;
}

/* Locks the files of a series. Returns BLOOMFILE_EREPLACED if the files of the series have
 * changed: a writer may have made a layer before the previous layer was locked (S15). */
static int lock_series(const struct removal *r, const struct series *s)
{
    int error = removal_lock(r);
    for (uint64_t slot = 0; slot < slots_of(s) && error == 0; slot++)
        error = check_slot(r, s, slot);
    return error == ENOENT ? BLOOMFILE_EREPLACED : error;
}

static int find_and_lock(struct removal *r, const char *path)
{
    struct header h = { 0 };
    char *real = path_without_links(path);
    *r = (struct removal){ 0 };
    int error = find_file(r, real != NULL ? real : strdup(path), &h);
    if (error != 0 || !header_is_layer(&h) || h.layers != 0)
        return error;
    const struct series s = { .path = r->files[0].path, .generations = h.generations };
    if (files_slot(&s, h.layer) != 0)
        return BLOOMFILE_ESERIES;
    r->series = true;
    error = find_layers(r, &s, &h);
    if (error != 0)
        return error;
    order_files(r);
    return lock_series(r, &s);
}

int removal_find(struct removal *r, const char *path)
{
    int error = find_and_lock(r, path);
    for (int tries = 1; tries < REMOVAL_TRIES && error == BLOOMFILE_EREPLACED; tries++) {
        removal_end(r);
        error = find_and_lock(r, path);
    }
    return error;
}

/* Removes a symbolic link before its target, so that another call can complete an interrupted
 * removal. */
static int remove_name(const char *path)
{
    struct stat named;
    if (lstat(path, &named) != 0)
        return errno;
    const bool is_link = S_ISLNK(named.st_mode);
    char *target = is_link ? path_without_links(path) : NULL;
    if (is_link && target == NULL)
        return errno;
    int error = unlink(path) == 0 ? 0 : errno;
    if (error == 0 && is_link)
        error = unlink(target) == 0 ? 0 : errno;
    free(target);
    return error;
}

static int remove_file(const struct removal_file *file)
{
    const int error = check_named(file);
    return error != 0 ? error : remove_name(file->path);
}

int removal_of_others(const struct removal *r)
{
    /* The successor bit of the last layer but one must be on disk before the last layer is removed,
     * so that the remaining files are refused after a power loss (S15). Errors are ignored. */
    if (r->count > 1)
        file_flush(r->files[1].fd);
    int error = r->count > 0 ? check_named(&r->files[r->count - 1]) : 0;
    for (size_t i = 0; i + 1 < r->count && error == 0; i++)
        error = remove_file(&r->files[i]);
    return error == 0 && r->count > 1 ? file_flush_directory(r->files[0].path) : error;
}

int removal_of_first(const struct removal *r)
{
    const struct removal_file *first = &r->files[r->count - 1];
    int error = remove_file(first);
    return error == 0 ? file_flush_directory(first->path) : error;
}

void removal_end(struct removal *r)
{
    for (size_t i = 0; i < r->count; i++) {
        if (r->files[i].fd >= 0)
            close(r->files[i].fd);
        free(r->files[i].path);
    }
    free(r->files);
    *r = (struct removal){ 0 };
}
