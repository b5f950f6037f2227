/* SPDX-License-Identifier: MIT
 *
 * A sorted table of rows that never changes, and its filter. footer.h shows the file.
 */
#ifndef TABLE_H
#define TABLE_H

#include "footer.h"
#include "report.h"
#include "row.h"

#include <bloomfile.h>
#include <mtbl.h>

#include <stdatomic.h>

/* Table 7 of a tablet is DIRECTORY/000007.mtbl, and its filter, if not embedded, 000007.bloom. */
#define TABLE_SUFFIX  ".mtbl"
#define FILTER_SUFFIX ".bloom"

/* NULL: out of memory. The caller frees it. */
char *table_path(const char *directory, uint64_t number, const char *suffix);

/* ---- writing */

struct table_options {
    mtbl_compression_type compression;
    double fpr;    /* of the filter */
    uint64_t seed; /* of the filter's hash, one for all tables of a tablet */
    bool embedded; /* the filter is a part of the table's file */
};

/* Bounds of what is to be written. */
struct table_extent {
    uint64_t rows, key_bytes, value_bytes;
};

struct table_writer;

/* Fails with ENOSPC if the disk might not hold the table: mtbl ends the program when a write fails,
 * so room is reserved beforehand. */
int table_writer_new(struct table_writer **out, const char *directory, uint64_t number,
                     const struct table_options *options, const struct table_extent *extent,
                     const struct reporter *reporter);

/* Keys must ascend. */
int table_writer_add(struct table_writer *w, const struct row *row);

/* Before the first row: the filter becomes the union of these, and is not built from the keys. If
 * that cannot be, this is reported, and it is built all the same. */
void table_writer_merge_filters(struct table_writer *w, const bloomfile *const *filters,
                                size_t count);

/* Publishes filter and table; they are on disk when it returns 0. A failure may leave files that no
 * manifest names. */
int table_writer_finish(struct table_writer *w);

void table_writer_free(struct table_writer *w);

/* ---- reading */

enum filter_state {
    FILTER_IN_USE,
    FILTER_UNWANTED, /* TABLE_NO_FILTER */
    FILTER_NAMELESS, /* the table has no (sound) footer: which filter is its own is unknown */
    FILTER_MISSING,
    FILTER_STALE,   /* of another table, or of this one before it was rewritten */
    FILTER_FOREIGN, /* no filter, or one that is not made as this program does */
    FILTER_DAMAGED,
    FILTER_UNREADABLE, /* an error of the system */
};

/* A filter may only spare a search. So without a filter that is surely this table's, all searches
 * are made. */
struct table {
    char *path, *filter_path;
    bool embedded; /* the filter is a part of the table's file */
    struct mtbl_reader *reader;
    const struct mtbl_source *rows;
    bloomfile *filter; /* NULL unless FILTER_IN_USE */
    enum filter_state filter_state;
    int filter_error;
    struct table_extent extent;
    uint64_t file_size;
    atomic_flag damage_reported;
};

#define TABLE_NO_FILTER  1u
#define TABLE_SEQUENTIAL 2u /* all rows will be read, in order; mtbl checks their checksums */

/* Errors are reported, but for ENOENT. Trouble with the filter is none: see filter_state. */
int table_open(struct table *t, const char *directory, uint64_t number, uint64_t seed,
               unsigned flags, const struct reporter *reporter);
void table_close(struct table *t);

/* "stale" and so on. */
const char *filter_state_name(enum filter_state state);

/* Says why a filter is not used, unless that was asked for. */
void table_report_filter(const struct table *t, const struct reporter *reporter);

#endif
