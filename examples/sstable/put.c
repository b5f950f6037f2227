/* SPDX-License-Identifier: MIT */
#include "change.h"
#include "update.h"

static struct table_extent measure(const struct row *rows, size_t count)
{
    struct table_extent extent = { .rows = count };
    for (size_t i = 0; i < count; i++) {
        extent.key_bytes += rows[i].key.size;
        extent.value_bytes += rows[i].value.size;
    }
    return extent;
}

static int write_table(const struct update *u, const struct row *rows, size_t count,
                       const struct table_options *options)
{
    const struct table_extent extent = measure(rows, count);
    struct table_writer *w;
    int error = table_writer_new(&w, u->directory, u->manifest.next, options, &extent, u->reporter);
    for (size_t i = 0; i < count && error == 0; i++)
        error = table_writer_add(w, &rows[i]);
    if (error == 0)
        error = table_writer_finish(w);
    table_writer_free(w);
    return error;
}

static int add_table(const char *directory, bool create, const struct row *rows, size_t count,
                     const struct table_options *options, const struct reporter *reporter)
{
    struct update u;
    int error = update_begin(&u, directory, create, reporter);
    if (error != 0)
        return error;
    if (count > 0) {
        error = write_table(&u, rows, count, options);
        if (error == 0)
            error = update_commit(&u, 0, 0, true);
    }
    update_end(&u);
    return error;
}

int tablet_put(const char *directory, const struct row *rows, size_t count,
               const struct table_options *options, const struct reporter *reporter)
{
    return add_table(directory, true, rows, count, options, reporter);
}

int tablet_delete(const char *directory, const struct row *deletions, size_t count,
                  const struct table_options *options, const struct reporter *reporter)
{
    return add_table(directory, false, deletions, count, options, reporter);
}
