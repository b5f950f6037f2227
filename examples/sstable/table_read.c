/* SPDX-License-Identifier: MIT
 *
 * A table and its filter are opened. */
#include "table.h"

#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static _Noreturn void no_table(const struct table *t)
{
    errx(2, "cannot open %s: it is no table, or damaged", t->path);
}

/* A file that is too short for a footer and mtbl's metadata has no footer. Whether these are
 * metadata, mtbl looks itself. */
static bool read_footer(struct table *t, int fd, struct footer *footer)
{
    uint8_t end[FOOTER_SIZE + METADATA_SIZE] = { 0 };
    struct stat status;
    if (fstat(fd, &status) == -1)
        err(2, "cannot open %s", t->path);
    if (!S_ISREG(status.st_mode) || status.st_size < METADATA_SIZE)
        no_table(t);
    t->file_size = (uint64_t)status.st_size;
    const size_t wanted = t->file_size < sizeof end ? METADATA_SIZE : sizeof end;
    const ssize_t got =
        pread(fd, end + sizeof end - wanted, wanted, (off_t)(t->file_size - wanted));
    if (got == -1)
        err(2, "cannot read %s", t->path);
    if (got != (ssize_t)wanted)
        no_table(t);
    return footer_decode(footer, end);
}

static void open_rows(struct table *t, int fd, unsigned flags)
{
    struct mtbl_reader_options *options = mtbl_reader_options_init();
    const bool sequential = (flags & TABLE_SEQUENTIAL) != 0;
    mtbl_reader_options_set_madvise_random(options, !sequential);
    mtbl_reader_options_set_verify_checksums(options, sequential);
    t->reader = mtbl_reader_init_fd(fd, options);
    mtbl_reader_options_destroy(&options);
    if (t->reader == NULL)
        no_table(t);
    t->rows = mtbl_reader_source(t->reader);
    const struct mtbl_metadata *metadata = mtbl_reader_metadata(t->reader);
    t->extent = (struct table_extent){ mtbl_metadata_count_entries(metadata),
                                       mtbl_metadata_bytes_keys(metadata),
                                       mtbl_metadata_bytes_values(metadata) };
}

static void open_filter(struct table *t, int fd, const struct footer *footer, uint64_t seed)
{
    struct filter_options options = { .seed = seed };
    memcpy(options.identity, footer->identity, sizeof options.identity);
    t->embedded = footer->image_size > 0;
    filter_open(&t->filter, &options, t->filter_path, fd, footer->image_offset, footer->image_size);
}

bool table_open(struct table *t, const char *directory, uint64_t number, uint64_t seed,
                unsigned flags)
{
    struct footer footer;
    memset(t, 0, sizeof *t);
    t->path = table_path(directory, number, TABLE_SUFFIX);
    t->filter_path = table_path(directory, number, FILTER_SUFFIX);
    const int fd = open(t->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    if (fd == -1 && errno != ENOENT)
        err(2, "cannot open %s", t->path);
    if (fd == -1) {
        table_close(t);
        return false;
    }
    const bool sound = read_footer(t, fd, &footer);
    open_rows(t, fd, flags);
    if ((flags & TABLE_NO_FILTER) == 0 && !sound)
        t->filter.state = FILTER_NAMELESS;
    else if ((flags & TABLE_NO_FILTER) == 0)
        open_filter(t, fd, &footer, seed);
    close(fd);
    return true;
}

void table_close(struct table *t)
{
    filter_close(&t->filter);
    mtbl_reader_destroy(&t->reader);
    free(t->filter_path);
    free(t->path);
}

void table_report_filter(const struct table *t)
{
    const char *const where = t->embedded ? t->path : t->filter_path;
    switch (t->filter.state) {
    case FILTER_IN_USE:
    case FILTER_UNWANTED:
        return;
    case FILTER_NAMELESS:
        warnx("%s: its filter is unknown (no sound footer), every lookup searches it", t->path);
        return;
    case FILTER_STALE:
        warnx("%s: the filter is stale (of other rows), every lookup searches %s", where, t->path);
        return;
    default:
        warnx("%s: the filter is %s (%s), every lookup searches %s", where,
              filter_state_name(t->filter.state), bloomfile_strerror(t->filter.error), t->path);
    }
}

bool table_next_row(const struct table *t, struct mtbl_iter *rows, struct row *row)
{
    const uint8_t *key, *stored;
    size_t key_size, size;
    if (rows == NULL || mtbl_iter_next(rows, &key, &key_size, &stored, &size) != mtbl_res_success)
        return false;
    if (size == 0 || stored[0] > 1)
        errx(2, "cannot use %s: it has a row that no tablet has written", t->path);
    *row = (struct row){ { key, key_size }, { stored[0] == 1 ? stored + 1 : NULL, size - 1 }, 0 };
    return true;
}
