/* SPDX-License-Identifier: MIT */
#include "files.h"
#include "filter_write.h"
#include "table.h"

#include <bloomfile_inspect.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

struct table_writer {
    char *path, *temporary, *filter_path, *directory;
    int fd; /* -1: no temporary file */
    struct table_options options;
    struct footer footer;
    struct mtbl_writer *rows;
    struct filter_writer filter;
    uint8_t *stored; /* a row's value as mtbl gets it */
    size_t stored_room;
    const struct reporter *reporter;
};

char *table_path(const char *directory, uint64_t number, const char *suffix)
{
    char *path;
    return asprintf(&path, "%s/%06" PRIu64 "%s", directory, number, suffix) == -1 ? NULL : path;
}

/* ---- beginning */

/* At most: a key appears in its row and, as the last of a block, in the index; a row has three
 * lengths before it; and what cannot be compressed grows a little. */
static uint64_t room_for(const struct table_extent *extent)
{
    const uint64_t bytes = 2 * extent->key_bytes + extent->value_bytes + 64 * extent->rows;
    return bytes + bytes / 64 + (64 << 10);
}

/* File systems that cannot reserve are taken at their word. */
static int reserve(int fd, uint64_t bytes)
{
    if (fallocate(fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)bytes) == 0 || errno == EOPNOTSUPP)
        return 0;
    return errno;
}

static bool name_files(struct table_writer *w, const char *directory, uint64_t number)
{
    w->directory = strdup(directory);
    w->path = table_path(directory, number, TABLE_SUFFIX);
    w->temporary = table_path(directory, number, TABLE_SUFFIX ".tmp");
    w->filter_path = table_path(directory, number, FILTER_SUFFIX);
    return w->directory != NULL && w->path != NULL && w->temporary != NULL &&
           w->filter_path != NULL;
}

/* What a kill left of this name has been removed by update_begin(). */
static int make_temporary(struct table_writer *w, const struct table_extent *extent)
{
    w->fd = open(w->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return w->fd == -1 ? errno : reserve(w->fd, room_for(extent));
}

static int draw_identity(struct footer *footer)
{
    const ssize_t size = sizeof footer->identity;
    return getrandom(footer->identity, (size_t)size, 0) == size ? 0 : errno;
}

/* The same for tables of all sizes, or their filters could not be merged. */
static uint32_t hashes_for(double fpr)
{
    const uint64_t typical = 1000000;
    return bloomfile_hashes_for(0, bloomfile_bits_for(0, typical, fpr, 0), typical);
}

static int start_filter(struct table_writer *w)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.fpr = w->options.fpr;
    params.hashes = hashes_for(w->options.fpr);
    params.seed = w->options.seed;
    memcpy(params.tag, w->footer.identity, sizeof params.tag);
    return filter_writer_start(&w->filter, &params);
}

static int start_rows(struct table_writer *w)
{
    struct mtbl_writer_options *options = mtbl_writer_options_init();
    mtbl_writer_options_set_compression(options, w->options.compression);
    w->rows = mtbl_writer_init_fd(w->fd, options);
    mtbl_writer_options_destroy(&options);
    return w->rows == NULL ? EIO : 0;
}

int table_writer_new(struct table_writer **out, const char *directory, uint64_t number,
                     const struct table_options *options, const struct table_extent *extent,
                     const struct reporter *reporter)
{
    struct table_writer *w = calloc(1, sizeof *w);
    *out = NULL;
    if (w == NULL)
        return report(reporter, ENOMEM, "cannot write a table in %s", directory);
    w->fd = w->filter.merged = -1;
    w->options = *options;
    w->reporter = reporter;

    int error = name_files(w, directory, number) ? 0 : ENOMEM;
    if (error == 0)
        error = make_temporary(w, extent);
    if (error == 0)
        error = draw_identity(&w->footer);
    if (error == 0)
        error = start_filter(w);
    if (error == 0)
        error = start_rows(w);
    if (error == 0) {
        *out = w;
        return 0;
    }
    report(reporter, error, "cannot make a table in %s", directory);
    table_writer_free(w);
    return error;
}

void table_writer_merge_filters(struct table_writer *w, const bloomfile *const *filters,
                                size_t count)
{
    const int error = filter_writer_merge(&w->filter, w->directory, filters, count);
    if (error != 0)
        report(w->reporter, error, "%s: filters are not merged, it is built from the keys",
               w->filter_path);
}

void table_writer_free(struct table_writer *w)
{
    if (w == NULL)
        return;
    mtbl_writer_destroy(&w->rows);
    filter_writer_end(&w->filter);
    if (w->fd != -1) {
        close(w->fd);
        unlink(w->temporary);
    }
    free(w->stored);
    free(w->filter_path);
    free(w->temporary);
    free(w->path);
    free(w->directory);
    free(w);
}

/* ---- rows */

static int make_room(struct table_writer *w, size_t size)
{
    if (size <= w->stored_room)
        return 0;
    uint8_t *larger = realloc(w->stored, 2 * size);
    if (larger == NULL)
        return ENOMEM;
    w->stored = larger;
    w->stored_room = 2 * size;
    return 0;
}

int table_writer_add(struct table_writer *w, const struct row *row)
{
    const size_t size = 1 + row->value.size;
    int error = make_room(w, size);
    if (error == 0)
        error = filter_writer_add(&w->filter, row->key.data, row->key.size);
    if (error != 0)
        return report(w->reporter, error, "cannot add a row to %s", w->path);
    w->stored[0] = row->deleted ? ROW_DELETED : ROW_VALUE;
    if (row->value.size > 0)
        memcpy(w->stored + 1, row->value.data, row->value.size);
    if (mtbl_writer_add(w->rows, row->key.data, row->key.size, w->stored, size) == mtbl_res_success)
        return 0;
    return report(w->reporter, EINVAL, "cannot add a row to %s, keys do not ascend", w->path);
}

/* ---- the end */

/* mtbl's metadata are the end of what it wrote, and of the file again. */
static int append_footer(struct table_writer *w, off_t metadata)
{
    uint8_t end[FOOTER_SIZE + METADATA_SIZE];
    const ssize_t got = pread(w->fd, end + FOOTER_SIZE, METADATA_SIZE, metadata);
    if (got != METADATA_SIZE)
        return got == -1 ? errno : EIO;
    footer_encode(&w->footer, end);
    return write_all(w->fd, end, sizeof end);
}

static int complete_file(struct table_writer *w)
{
    mtbl_writer_destroy(&w->rows);
    const off_t size = lseek(w->fd, 0, SEEK_END);
    if (size < METADATA_SIZE)
        return size == -1 ? errno : EIO;
    int error = 0;
    if (w->options.embedded)
        error = filter_writer_embed(&w->filter, w->fd, &w->footer);
    return error != 0 ? error : append_footer(w, size - METADATA_SIZE);
}

/* Gives back what was reserved and not needed. */
static int trim(int fd)
{
    const off_t size = lseek(fd, 0, SEEK_END);
    return size == -1 || ftruncate(fd, size) == -1 ? errno : 0;
}

static int publish(struct table_writer *w)
{
    if (fsync(w->fd) == -1 || rename(w->temporary, w->path) == -1)
        return errno;
    close(w->fd);
    w->fd = -1;
    return sync_directory(w->directory);
}

/* The filter first. Here neither counts before the manifest names the table; but where a table
 * counts as soon as it has its name, a kill between the two must not leave one without its filter:
 * that would be right, and slow for as long as the table lives. A filter without a table harms
 * nobody. */
int table_writer_finish(struct table_writer *w)
{
    int error = complete_file(w);
    if (error == 0)
        error = trim(w->fd);
    if (error != 0)
        return report(w->reporter, error, "cannot write %s", w->temporary);
    if (!w->options.embedded) {
        error = filter_writer_publish(&w->filter, w->filter_path);
        if (error != 0)
            return report(w->reporter, error, "cannot write %s", w->filter_path);
    }
    error = publish(w);
    return error == 0 ? 0 : report(w->reporter, error, "cannot write %s", w->path);
}
