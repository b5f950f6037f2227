/* SPDX-License-Identifier: MIT */
#include "tablet.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static void close_tables(struct tablet *t, size_t count)
{
    for (size_t i = 0; i < count; i++)
        table_close(&t->tables[i]);
    free(t->tables);
    t->tables = NULL;
}

/* *at: the table that cannot be opened. */
static int open_tables(struct tablet *t, unsigned flags, size_t *at)
{
    t->tables = calloc(t->manifest.count + 1, sizeof *t->tables);
    if (t->tables == NULL)
        return report(t->reporter, ENOMEM, "cannot open %s", t->directory);
    for (*at = 0; *at < t->manifest.count; ++*at) {
        const int error = table_open(&t->tables[*at], t->directory, t->manifest.tables[*at],
                                     t->seed, flags, t->reporter);
        if (error != 0) {
            close_tables(t, *at);
            return error;
        }
    }
    return 0;
}

static int read_manifest(const struct tablet *t, struct manifest *m)
{
    const int error = manifest_read(m, t->directory, t->reporter);
    if (error == ENOENT)
        report(t->reporter, error, "cannot open %s/MANIFEST", t->directory);
    return error;
}

/* Every change takes a number or, if no row is left, tables away. */
static bool same(const struct manifest *a, const struct manifest *b)
{
    return a->next == b->next && a->count == b->count;
}

/* A compaction may remove the files of a manifest while they are being opened. Then there is a new
 * manifest, and what was missing is not worth a word. */
int tablet_open(struct tablet *t, const char *directory, uint64_t seed, unsigned flags,
                const struct reporter *reporter)
{
    struct manifest now;
    *t = (struct tablet){ .directory = directory, .seed = seed, .reporter = reporter };
    int error = read_manifest(t, &now);
    while (error == 0) {
        size_t at = 0;
        t->manifest = now;
        const int opened = open_tables(t, flags, &at);
        if (opened != 0 && opened != ENOENT)
            return opened;
        error = read_manifest(t, &now);
        if (error == 0 && same(&now, &t->manifest)) {
            if (opened == 0)
                break;
            return report(reporter, opened, "cannot open table %06" PRIu64 " of %s", now.tables[at],
                          directory);
        }
        if (opened == 0)
            close_tables(t, t->manifest.count);
    }
    for (size_t i = 0; error == 0 && i < t->manifest.count; i++)
        table_report_filter(&t->tables[i], reporter);
    return error;
}

void tablet_close(struct tablet *t)
{
    if (t->tables != NULL)
        close_tables(t, t->manifest.count);
}
