/* SPDX-License-Identifier: MIT
 *
 * A table and its filter are made in one pass, and published together. */
#include "table.h"

#include <bloomfile_combine.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct table_writer {
    char *path, *temporary, *filter_path, *directory;
    int fd;
    bool embedded;
    struct footer footer;
    struct mtbl_writer *rows;
    bloomfile_builder *builder;          /* NULL: the filter is a union, and made */
    struct bloomfile_destination filter; /* its file; or its image, to embed */
    uint8_t *stored; /* a row's value as mtbl gets it: a byte that tells deletions, and the value */
    size_t room;
};

char *table_path(const char *directory, uint64_t number, const char *suffix)
{
    char *path;
    if (asprintf(&path, "%s/%06" PRIu64 "%s", directory, number, suffix) == -1)
        err(2, "cannot name a table of %s", directory);
    return path;
}

/* ---- beginning */

/* At most: a key appears in its row and, as the last of a block, in the index; a row has three
 * lengths before it; and what cannot be compressed grows a little. */
static uint64_t room_for(const struct table_extent *extent)
{
    const uint64_t bytes = 2 * extent->key_bytes + extent->value_bytes + 64 * extent->rows;
    return bytes + bytes / 64 + (64 << 10);
}

/* Room is reserved, as mtbl ends the program by an assertion when a write fails. File systems that
 * cannot reserve are taken at their word. What a kill left of this name is gone: update_begin(). */
static void make_temporary(struct table_writer *w, const struct table_extent *extent)
{
    w->fd = open(w->temporary, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (w->fd == -1 || (fallocate(w->fd, FALLOC_FL_KEEP_SIZE, 0, (off_t)room_for(extent)) == -1 &&
                        errno != EOPNOTSUPP))
        err(2, "cannot make a table in %s", w->directory);
}

static void start_filter(struct table_writer *w, const struct table_options *options)
{
    struct filter_options filter = { .layout = options->layout,
                                     .fpr = options->fpr,
                                     .seed = options->seed };
    int error = filter_draw_identity(&filter);
    if (error == 0)
        error = filter_begin(&w->builder, &filter);
    check_bloomfile(error, "make a table in", w->directory);
    memcpy(w->footer.identity, filter.identity, sizeof filter.identity);
}

static void start_rows(struct table_writer *w, mtbl_compression_type compression)
{
    struct mtbl_writer_options *options = mtbl_writer_options_init();
    mtbl_writer_options_set_compression(options, compression);
    w->rows = mtbl_writer_init_fd(w->fd, options);
    mtbl_writer_options_destroy(&options);
    check_bloomfile(w->rows == NULL ? EIO : 0, "make a table in", w->directory);
}

struct table_writer *table_writer_new(const char *directory, uint64_t number,
                                      const struct table_options *options,
                                      const struct table_extent *extent)
{
    struct table_writer *w = not_null(calloc(1, sizeof *w));
    w->directory = join(directory, "", "");
    w->path = table_path(directory, number, TABLE_SUFFIX);
    w->temporary = table_path(directory, number, TABLE_SUFFIX ".tmp");
    w->filter_path = table_path(directory, number, FILTER_SUFFIX);
    w->embedded = options->embedded;
    w->filter = w->embedded ? bloomfile_to_memory()
                            : bloomfile_to_path(w->filter_path, BLOOMFILE_TO_REPLACE);
    make_temporary(w, extent);
    start_filter(w, options);
    start_rows(w, options->compression);
    return w;
}

void table_writer_merge_filters(struct table_writer *w, const bloomfile_filter *const *filters,
                                size_t count)
{
    struct bloomfile_merge_params params = BLOOMFILE_MERGE_PARAMS_INIT;
    struct bloomfile_metadata metadata = BLOOMFILE_METADATA_INIT;
    metadata.tag = w->footer.identity;
    params.metadata = &metadata;
    const int error = bloomfile_merge(&w->filter, filters, count, &params);
    if (error != 0) {
        warnx("%s: filters are not merged, it is built from the keys: %s", w->filter_path,
              bloomfile_strerror(error));
        return;
    }
    bloomfile_builder_free(w->builder);
    w->builder = NULL;
}

/* ---- rows */

void table_writer_add(struct table_writer *w, const struct row *row)
{
    const size_t size = 1 + row->value.size;
    if (size > w->room) {
        w->room = 2 * size;
        w->stored = not_null(realloc(w->stored, w->room));
    }
    w->stored[0] = row->value.data != NULL;
    if (row->value.size > 0)
        memcpy(w->stored + 1, row->value.data, row->value.size);
    if (w->builder != NULL)
        check_bloomfile(bloomfile_builder_add(w->builder, row->key.data, row->key.size),
                        "add a key to", w->filter_path);
    if (mtbl_writer_add(w->rows, row->key.data, row->key.size, w->stored, size) != mtbl_res_success)
        errx(2, "cannot add a row to %s: keys do not ascend", w->path);
}

/* ---- the end */

static int finish_filter(struct table_writer *w)
{
    const int error = w->builder != NULL ? bloomfile_builder_write(w->builder, &w->filter) : 0;
    if (error != 0 || !w->embedded)
        return error;
    w->footer.image_size = w->filter.size;
    return filter_embed(w->fd, w->filter.memory, w->filter.size, &w->footer.image_offset);
}

/* mtbl's metadata are the end of what it wrote, and of the file again. */
static int append_footer(struct table_writer *w, off_t metadata)
{
    uint8_t end[FOOTER_SIZE + METADATA_SIZE];
    const ssize_t got = pread(w->fd, end + FOOTER_SIZE, METADATA_SIZE, metadata);
    if (got != METADATA_SIZE)
        return got == -1 ? errno : EIO;
    footer_encode(&w->footer, end);
    return lseek(w->fd, 0, SEEK_END) == -1 ? errno : write_all(w->fd, end, sizeof end);
}

/* Gives back what was reserved and not needed. */
static int trim(int fd)
{
    const off_t size = lseek(fd, 0, SEEK_END);
    return size == -1 || ftruncate(fd, size) == -1 ? errno : 0;
}

/* The filter first. Here neither counts before the manifest names the table; but where a table
 * counts as soon as it has its name, a kill between the two must not leave one without its filter.
 */
void table_writer_finish(struct table_writer *w)
{
    mtbl_writer_destroy(&w->rows);
    const off_t size = lseek(w->fd, 0, SEEK_END);
    check_bloomfile(size < METADATA_SIZE ? EIO : 0, "write", w->temporary);
    check_bloomfile(finish_filter(w), "write the filter of", w->path);
    check_bloomfile(append_footer(w, size - METADATA_SIZE), "write", w->temporary);
    check_bloomfile(trim(w->fd), "write", w->temporary);
    if (fsync(w->fd) == -1 || rename(w->temporary, w->path) == -1)
        err(2, "cannot write %s", w->path);
    check_bloomfile(sync_directory(w->directory), "write to disk the names in", w->directory);
    close(w->fd);
    bloomfile_builder_free(w->builder);
    bloomfile_free(w->filter.memory);
    free(w->stored);
    free(w->filter_path);
    free(w->temporary);
    free(w->path);
    free(w->directory);
    free(w);
}
