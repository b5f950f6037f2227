/* SPDX-License-Identifier: MIT */
#include "table.h"

#include <bloomfile_inspect.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- the filter */

static enum filter_state state_for(int error)
{
    switch (error) {
    case 0:
        return FILTER_IN_USE;
    case ENOENT:
        return FILTER_MISSING;
    case EISDIR:
    case BLOOMFILE_ENOTREGULAR:
    case BLOOMFILE_EMAGIC:
    case BLOOMFILE_EVERSION:
    case BLOOMFILE_EFEATURE:
    case BLOOMFILE_ELAYOUT:
    case BLOOMFILE_EHASH:
    case BLOOMFILE_ESELFTEST:
    case BLOOMFILE_ELIVE:
    case BLOOMFILE_EDIFFERENTSEED:
        return FILTER_FOREIGN;
    default:
        return error > 0 ? FILTER_UNREADABLE : FILTER_DAMAGED;
    }
}

/* A sound filter may still not be this table's. With another seed it would be asked with digests
 * that mean nothing to it, and live ones have no checksums. */
static enum filter_state judge(const bloomfile *filter, const struct footer *footer, uint64_t seed,
                               int *error)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(filter, &info);
    if (memcmp(info.tag, footer->identity, sizeof info.tag) != 0)
        return FILTER_STALE;
    if (info.seed != seed)
        *error = BLOOMFILE_EDIFFERENTSEED;
    else if (info.state != BLOOMFILE_SEALED)
        *error = BLOOMFILE_ELIVE;
    return state_for(*error);
}

static void open_filter(struct table *t, int fd, const struct footer *footer, uint64_t seed)
{
    t->embedded = footer->image_size > 0;
    t->filter_error =
        t->embedded ? bloomfile_open_fd(&t->filter, fd, footer->image_offset, footer->image_size, 0)
                    : bloomfile_open(&t->filter, t->filter_path, 0);
    t->filter_state = t->filter_error != 0 ? state_for(t->filter_error)
                                           : judge(t->filter, footer, seed, &t->filter_error);
    if (t->filter_state != FILTER_IN_USE) {
        bloomfile_close(t->filter);
        t->filter = NULL;
    }
}

/* ---- the table */

/* A file that is too short for a footer and mtbl's metadata has no footer. Whether these are
 * metadata, mtbl looks itself. */
static int read_end(int fd, uint64_t *size, struct footer *footer, enum footer_state *state)
{
    uint8_t end[FOOTER_SIZE + METADATA_SIZE] = { 0 };
    struct stat status;
    if (fstat(fd, &status) == -1)
        return errno;
    if (!S_ISREG(status.st_mode) || status.st_size < METADATA_SIZE)
        return EBADMSG;
    *size = (uint64_t)status.st_size;
    const size_t wanted = *size < sizeof end ? METADATA_SIZE : sizeof end;
    uint8_t *const to = end + sizeof end - wanted;
    const ssize_t got = pread(fd, to, wanted, (off_t)(*size - wanted));
    if (got != (ssize_t)wanted)
        return got == -1 ? errno : EBADMSG;
    *state = footer_decode(footer, end);
    return 0;
}

static int open_rows(struct table *t, int fd, unsigned flags)
{
    struct mtbl_reader_options *options = mtbl_reader_options_init();
    const bool sequential = (flags & TABLE_SEQUENTIAL) != 0;
    mtbl_reader_options_set_madvise_random(options, !sequential);
    mtbl_reader_options_set_verify_checksums(options, sequential);
    t->reader = mtbl_reader_init_fd(fd, options);
    mtbl_reader_options_destroy(&options);
    if (t->reader == NULL)
        return EBADMSG;
    t->rows = mtbl_reader_source(t->reader);
    const struct mtbl_metadata *metadata = mtbl_reader_metadata(t->reader);
    t->extent = (struct table_extent){ mtbl_metadata_count_entries(metadata),
                                       mtbl_metadata_bytes_keys(metadata),
                                       mtbl_metadata_bytes_values(metadata) };
    return 0;
}

static int open_files(struct table *t, int fd, uint64_t seed, unsigned flags)
{
    struct footer footer;
    enum footer_state state;
    int error = read_end(fd, &t->file_size, &footer, &state);
    if (error == 0)
        error = open_rows(t, fd, flags);
    if (error != 0)
        return error;
    if ((flags & TABLE_NO_FILTER) != 0)
        t->filter_state = FILTER_UNWANTED;
    else if (state != FOOTER_SOUND)
        t->filter_state = FILTER_NAMELESS;
    else
        open_filter(t, fd, &footer, seed);
    return 0;
}

int table_open(struct table *t, const char *directory, uint64_t number, uint64_t seed,
               unsigned flags, const struct reporter *reporter)
{
    memset(t, 0, sizeof *t);
    atomic_flag_clear(&t->damage_reported);
    t->path = table_path(directory, number, TABLE_SUFFIX);
    t->filter_path = table_path(directory, number, FILTER_SUFFIX);
    if (t->path == NULL || t->filter_path == NULL) {
        table_close(t);
        return report(reporter, ENOMEM, "cannot open a table of %s", directory);
    }
    const int fd = open(t->path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
    const int error = fd == -1 ? errno : open_files(t, fd, seed, flags);
    if (fd != -1)
        close(fd);
    if (error == EBADMSG)
        report(reporter, 0, "cannot open %s: it is no table, or damaged", t->path);
    else if (error != 0 && error != ENOENT)
        report(reporter, error, "cannot open %s", t->path);
    if (error != 0)
        table_close(t);
    return error;
}

void table_close(struct table *t)
{
    bloomfile_close(t->filter);
    mtbl_reader_destroy(&t->reader);
    free(t->filter_path);
    free(t->path);
    memset(t, 0, sizeof *t);
}

/* ---- words */

const char *filter_state_name(enum filter_state state)
{
    static const char *const names[] = {
        [FILTER_IN_USE] = "in use",    [FILTER_UNWANTED] = "not used",
        [FILTER_NAMELESS] = "unknown", [FILTER_MISSING] = "missing",
        [FILTER_STALE] = "stale",      [FILTER_FOREIGN] = "foreign",
        [FILTER_DAMAGED] = "damaged",  [FILTER_UNREADABLE] = "unreadable",
    };
    return names[state];
}

void table_report_filter(const struct table *t, const struct reporter *reporter)
{
    const char *const where = t->embedded ? t->path : t->filter_path;
    switch (t->filter_state) {
    case FILTER_IN_USE:
    case FILTER_UNWANTED:
        return;
    case FILTER_NAMELESS:
        report(reporter, 0, "%s: its filter is unknown (no sound footer), every lookup searches it",
               t->path);
        return;
    case FILTER_STALE:
        report(reporter, 0, "%s: the filter is stale (of other rows), every lookup searches %s",
               where, t->path);
        return;
    default:
        report(reporter, 0, "%s: the filter is %s (%s), every lookup searches %s", where,
               filter_state_name(t->filter_state), bloomfile_strerror(t->filter_error), t->path);
    }
}
