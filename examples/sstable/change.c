/* SPDX-License-Identifier: MIT
 *
 * The two changes of a tablet: new rows, and fewer tables. */
#include "change.h"

#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* ---- new rows */

static void add_table(const char *directory, bool create, const struct rows *rows,
                      const struct table_options *options)
{
    struct update u;
    struct table_extent extent = { .rows = rows->count };
    for (size_t i = 0; i < rows->count; i++) {
        extent.key_bytes += rows->row[i].key.size;
        extent.value_bytes += rows->row[i].value.size;
    }
    update_begin(&u, directory, create);
    if (rows->count > 0) {
        struct table_writer *w = table_writer_new(directory, u.manifest.next, options, &extent);
        for (size_t i = 0; i < rows->count; i++)
            table_writer_add(w, &rows->row[i]);
        table_writer_finish(w);
        update_commit(&u, 0, 0, true);
    }
    update_end(&u);
}

void tablet_put(const char *directory, const struct rows *rows, const struct table_options *options)
{
    add_table(directory, true, rows, options);
}

void tablet_delete(const char *directory, const struct rows *deletions,
                   const struct table_options *options)
{
    add_table(directory, false, deletions, options);
}

/* ---- fewer tables */

/* The tables that take part. */
struct part {
    const struct table *tables;
    size_t count;
    bool drops_deletions;
};

/* A union needs all of its filters: one that was refused may lack any key, and so would the union.
 */
static void merge_filters(struct table_writer *w, const struct part *part)
{
    const bloomfile_filter *filters[MANIFEST_TABLES];
    for (size_t i = 0; i < part->count; i++) {
        filters[i] = part->tables[i].filter.handle;
        if (filters[i] == NULL) {
            warnx("%s: filters are not merged, as this one has none; it is built from the keys",
                  part->tables[i].path);
            return;
        }
    }
    table_writer_merge_filters(w, filters, part->count);
}

static struct table_writer *begin_table(const struct update *u, const struct part *part,
                                        const struct compaction *c,
                                        const struct table_options *options)
{
    struct table_extent sum = { 0 };
    for (size_t i = 0; i < part->count; i++) {
        sum.rows += part->tables[i].extent.rows;
        sum.key_bytes += part->tables[i].extent.key_bytes;
        sum.value_bytes += part->tables[i].extent.value_bytes;
    }
    struct table_writer *w = table_writer_new(u->directory, u->manifest.next, options, &sum);
    if (c->merge_filters)
        merge_filters(w, part);
    return w;
}

/* The old tables go when the new one counts, so it is opened, and all its rows are read, before. */
static void prove_table(const struct update *u, uint64_t seed, uint64_t rows)
{
    struct table t;
    struct row row;
    uint64_t there = 0;
    if (!table_open(&t, u->directory, u->manifest.next, seed, TABLE_SEQUENTIAL))
        errx(2, "cannot open table %06" PRIu64 " of %s: %s", u->manifest.next, u->directory,
             strerror(ENOENT));
    struct mtbl_iter *all = mtbl_source_iter(t.rows);
    while (table_next_row(&t, all, &row))
        there++;
    if (there != rows || t.extent.rows != rows)
        errx(2, "cannot read all rows of %s: it is damaged", t.path);
    table_report_filter(&t);
    mtbl_iter_destroy(&all);
    table_close(&t);
}

/* false: no row is left, and no table made. */
static bool write_table(const struct update *u, const struct part *part, const struct compaction *c,
                        const struct table_options *options)
{
    uint64_t rows = 0;
    struct table_writer *w = NULL;
    struct merge *merge = merge_new(part->tables, part->count);
    for (struct row row; merge_next(merge, &row);) {
        if (row.value.data == NULL && part->drops_deletions)
            continue;
        if (w == NULL)
            w = begin_table(u, part, c, options);
        table_writer_add(w, &row);
        rows++;
    }
    merge_free(merge);
    if (w != NULL) {
        table_writer_finish(w);
        prove_table(u, options->seed, rows);
    }
    return w != NULL;
}

void tablet_compact(const char *directory, const struct compaction *c,
                    const struct table_options *options)
{
    struct update u;
    struct tablet tablet;
    update_begin(&u, directory, false);
    tablet_open(&tablet, directory, options->seed,
                TABLE_SEQUENTIAL | (c->merge_filters ? 0 : TABLE_NO_FILTER));
    const size_t all = tablet.manifest.count,
                 count = c->tables == 0 || c->tables > all ? all : c->tables,
                 first = c->newest ? 0 : all - count;
    const struct part part = { tablet.tables + first, count, first + count == all };
    if (count > 0)
        update_commit(&u, first, count, write_table(&u, &part, c, options));
    tablet_close(&tablet);
    update_end(&u);
}
