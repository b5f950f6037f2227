/* SPDX-License-Identifier: MIT */
#include "change.h"
#include "merge.h"
#include "tablet.h"
#include "update.h"

#include <errno.h>
#include <stdlib.h>

struct job {
    struct update update;
    struct tablet tablet;
    const struct table_options *options;
    size_t first, count; /* the tables that take part, in the order of the manifest */
    bool drops_deletions, has_table;
    struct table_writer *writer; /* NULL until there is a row to write */
};

static void choose(struct job *j, const struct compaction *c)
{
    const size_t all = j->tablet.manifest.count;
    j->count = c->tables == 0 || c->tables > all ? all : c->tables;
    j->first = c->newest ? 0 : all - j->count;
    j->drops_deletions = j->first + j->count == all;
}

/* ---- the new table */

static struct table_extent measure(const struct table *tables, size_t count)
{
    struct table_extent sum = { 0 };
    for (size_t i = 0; i < count; i++) {
        sum.rows += tables[i].extent.rows;
        sum.key_bytes += tables[i].extent.key_bytes;
        sum.value_bytes += tables[i].extent.value_bytes;
    }
    return sum;
}

/* A union needs all of its filters: one that was refused may lack any key, and so would the union.
 */
static void merge_filters(struct job *j)
{
    const bloomfile *filters[MANIFEST_TABLES];
    for (size_t i = 0; i < j->count; i++) {
        filters[i] = j->tablet.tables[j->first + i].filter;
        if (filters[i] == NULL) {
            report(j->update.reporter, 0,
                   "%s: filters are not merged, as this one has none; it is built from the keys",
                   j->tablet.tables[j->first + i].path);
            return;
        }
    }
    table_writer_merge_filters(j->writer, filters, j->count);
}

static int start_table(struct job *j, bool merges_filters)
{
    const struct table_extent extent = measure(&j->tablet.tables[j->first], j->count);
    const int error = table_writer_new(&j->writer, j->update.directory, j->update.manifest.next,
                                       j->options, &extent, j->update.reporter);
    if (error == 0 && merges_filters)
        merge_filters(j);
    return error;
}

static int write_row(struct job *j, const struct row *row, bool merges_filters)
{
    int error = 0;
    if (row->deleted && j->drops_deletions)
        return 0;
    if (j->writer == NULL)
        error = start_table(j, merges_filters);
    return error != 0 ? error : table_writer_add(j->writer, row);
}

static int write_rows(struct job *j, struct merge *merge, bool merges_filters)
{
    struct row row;
    bool end;
    int error = merge_next(merge, &row, &end, j->update.reporter);
    while (error == 0 && !end) {
        error = write_row(j, &row, merges_filters);
        if (error == 0)
            error = merge_next(merge, &row, &end, j->update.reporter);
    }
    return error;
}

static int write_table(struct job *j, bool merges_filters)
{
    struct merge *merge = merge_new(&j->tablet.tables[j->first], j->count);
    if (merge == NULL)
        return report(j->update.reporter, ENOMEM, "cannot compact %s", j->update.directory);
    int error = write_rows(j, merge, merges_filters);
    merge_free(merge);
    j->has_table = j->writer != NULL;
    if (error == 0 && j->has_table)
        error = table_writer_finish(j->writer);
    table_writer_free(j->writer);
    return error;
}

/* ---- all of it */

static int compact(struct job *j, const struct compaction *c)
{
    const unsigned flags = TABLE_SEQUENTIAL | (c->merge_filters ? 0 : TABLE_NO_FILTER);
    int error =
        tablet_open(&j->tablet, j->update.directory, j->options->seed, flags, j->update.reporter);
    if (error != 0)
        return error;
    choose(j, c);
    if (j->count > 0) {
        error = write_table(j, c->merge_filters);
        if (error == 0)
            error = update_commit(&j->update, j->first, j->count, j->has_table);
    }
    tablet_close(&j->tablet);
    return error;
}

int tablet_compact(const char *directory, const struct compaction *compaction,
                   const struct table_options *options, const struct reporter *reporter)
{
    struct job job = { .options = options };
    int error = update_begin(&job.update, directory, false, reporter);
    if (error != 0)
        return error;
    error = compact(&job, compaction);
    update_end(&job.update);
    return error;
}
