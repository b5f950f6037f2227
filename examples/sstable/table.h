/* SPDX-License-Identifier: MIT
 *
 * A sorted table of rows that never changes, and its filter. A file has:
 *
 *     what mtbl wrote: data blocks, index, metadata (512 bytes)
 *     the filter, if it is embedded
 *     the footer (48 bytes): the table's identity, and where the filter is
 *     the metadata again
 *
 * mtbl looks for its metadata in the last 512 bytes of a file and for all else where they say,
 * counted from the file's beginning; so this is a table for every program that reads mtbl files.
 *
 * Trouble ends the program, but trouble with a filter.
 */
#ifndef TABLE_H
#define TABLE_H

#include "../shared.h"
#include "filter.h"

#include <mtbl.h>

/* Table 7 of a tablet is DIRECTORY/000007.mtbl, and its filter, if not embedded, 000007.bloom. */
#define TABLE_SUFFIX  ".mtbl"
#define FILTER_SUFFIX ".bloom"

/* From malloc(). */
char *table_path(const char *directory, uint64_t number, const char *suffix);

/* ---- the footer */

enum {
    METADATA_SIZE = 512,
    FOOTER_SIZE = 48
};

struct footer {
    uint8_t identity[BLOOMFILE_TAG_SIZE];
    uint64_t image_offset, image_size; /* of an embedded filter; 0: it is a file of its own */
};

void footer_encode(const struct footer *footer, uint8_t bytes[FOOTER_SIZE]);

/* false: damaged, or written by another program. Whether the place of the filter is in the file,
 * bloomfile_open_with() checks. */
bool footer_decode(struct footer *footer, const uint8_t bytes[FOOTER_SIZE]);

/* ---- writing: a value at NULL is a deletion, which hides the key's rows in older tables */

struct table_options {
    mtbl_compression_type compression;
    uint32_t layout; /* of the filter */
    double fpr;
    uint64_t seed; /* of the filter's hash, one for all tables of a tablet */
    bool embedded; /* the filter is a part of the table's file */
};

/* Bounds of what is to be written. */
struct table_extent {
    uint64_t rows, key_bytes, value_bytes;
};

struct table_writer;

struct table_writer *table_writer_new(const char *directory, uint64_t number,
                                      const struct table_options *options,
                                      const struct table_extent *extent);

/* Keys must ascend. */
void table_writer_add(struct table_writer *w, const struct row *row);

/* Before the first row: the filter becomes the union of these, and is not built from the keys. If
 * that cannot be, this is said, and it is built all the same. */
void table_writer_merge_filters(struct table_writer *w, const bloomfile_filter *const *filters,
                                size_t count);

/* Publishes filter and table, which are on disk when it returns, and frees the writer. */
void table_writer_finish(struct table_writer *w);

/* ---- reading */

struct table {
    char *path, *filter_path;
    bool embedded; /* the filter is a part of the table's file */
    struct mtbl_reader *reader;
    const struct mtbl_source *rows;
    struct filter filter;
    struct table_extent extent;
    uint64_t file_size;
};

#define TABLE_NO_FILTER  1u
#define TABLE_SEQUENTIAL 2u /* all rows will be read, in order; mtbl checks their checksums */

/* false: there is no such file. */
bool table_open(struct table *t, const char *directory, uint64_t number, uint64_t seed,
                unsigned flags);
void table_close(struct table *t);

/* Says why a filter is not used, unless that was asked for. */
void table_report_filter(const struct table *t);

/* The next row, valid until the next call; false: there is none. */
bool table_next_row(const struct table *t, struct mtbl_iter *rows, struct row *row);

#endif
