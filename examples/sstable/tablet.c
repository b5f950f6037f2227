/* SPDX-License-Identifier: MIT
 *
 * All tables are opened; a lookup, of one key and of many. */
#include "tablet.h"

#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* ---- opening */

static void close_tables(struct tablet *t, size_t count)
{
    for (size_t i = 0; i < count; i++)
        table_close(&t->tables[i]);
    free(t->tables);
}

/* How many; the next one, if any, is missing. */
static size_t open_tables(struct tablet *t, unsigned flags)
{
    size_t opened = 0;
    t->tables = not_null(calloc(t->manifest.count + 1, sizeof *t->tables));
    while (opened < t->manifest.count &&
           table_open(&t->tables[opened], t->directory, t->manifest.tables[opened], t->seed, flags))
        opened++;
    return opened;
}

static void read_manifest(const struct tablet *t, struct manifest *m)
{
    if (!manifest_read(m, t->directory))
        err(2, "cannot open %s/MANIFEST", t->directory);
}

/* A compaction may remove the files of a manifest while they are being opened. Then there is a new
 * manifest, and what was missing is not worth a word. Every change takes a number or, if no row is
 * left, tables away. */
void tablet_open(struct tablet *t, const char *directory, uint64_t seed, unsigned flags)
{
    *t = (struct tablet){ .directory = directory, .seed = seed };
    struct manifest *const opened = &t->manifest, now;
    read_manifest(t, &now);
    for (;;) {
        *opened = now;
        const size_t count = open_tables(t, flags);
        read_manifest(t, &now);
        const bool same = now.next == opened->next && now.count == opened->count;
        if (same && count == now.count)
            break;
        if (same)
            errx(2, "cannot open table %06" PRIu64 " of %s: %s", now.tables[count], directory,
                 strerror(ENOENT));
        close_tables(t, count);
    }
    for (size_t i = 0; i < now.count; i++)
        table_report_filter(&t->tables[i]);
}

void tablet_close(struct tablet *t)
{
    close_tables(t, t->manifest.count);
}

/* ---- one table */

static void keep_value(struct answer *answer, const struct bloomfile_key *value)
{
    if (answer->room < value->size || answer->data == NULL) {
        answer->room = value->size + 1;
        answer->data = not_null(realloc(answer->data, answer->room));
    }
    memcpy(answer->data, value->data, value->size);
    answer->size = value->size;
}

/* Whether the table has a row for the key, if only that it is deleted. Each search has an iterator
 * of its own, so threads do not meet: all that they share of a reader is the mapped file. */
static bool search(struct table *table, struct bloomfile_key key, struct answer *answer)
{
    struct row row;
    const int damage = filter_news_of_damage(&table->filter);
    if (damage != 0)
        warnx("%s: the filter is damaged, more lookups than usual search %s: %s",
              table->embedded ? table->path : table->filter_path, table->path,
              bloomfile_strerror(damage));
    struct mtbl_iter *rows = mtbl_source_get(table->rows, key.data, key.size);
    answer->searched++;
    const bool resolved = table_next_row(table, rows, &row);
    answer->found = resolved && row.value.data != NULL;
    if (answer->found)
        keep_value(answer, &row.value);
    mtbl_iter_destroy(&rows);
    return resolved;
}

static bloomfile_digest begin(const struct tablet *t, struct bloomfile_key key,
                              struct answer *answer)
{
    answer->found = false;
    answer->searched = 0;
    return bloomfile_hash(t->seed, key.data, key.size);
}

/* ---- one key */

/* All filters are asked before any table is read: these are 20 times a cache line that must be
 * fetched, and the processor fetches many at once. */
void tablet_get(const struct tablet *t, struct bloomfile_key key, struct answer *answer)
{
    bool maybe[MANIFEST_TABLES], resolved = false;
    const bloomfile_digest digest = begin(t, key, answer);
    for (size_t i = 0; i < t->manifest.count; i++)
        maybe[i] = filter_may_have(&t->tables[i].filter, digest);
    for (size_t i = 0; i < t->manifest.count && !resolved; i++)
        resolved = maybe[i] && search(&t->tables[i], key, answer);
}

/* ---- many keys */

/* The keys that no table has resolved yet: their numbers and digests. */
struct pending {
    size_t count, keys[TABLET_BATCH];
    bloomfile_digest digests[TABLET_BATCH];
};

/* Searches one table for the keys that it may have; those it has are not pending any more. */
static void resolve(struct table *table, struct pending *p, const struct bloomfile_key *keys,
                    struct answer *answers)
{
    bool maybe[TABLET_BATCH];
    size_t left = 0;
    filter_may_have_many(&table->filter, p->digests, p->count, maybe);
    for (size_t i = 0; i < p->count; i++) {
        const size_t key = p->keys[i];
        if (maybe[i] && search(table, keys[key], &answers[key]))
            continue;
        p->keys[left] = key;
        p->digests[left++] = p->digests[i];
    }
    p->count = left;
}

void tablet_get_many(const struct tablet *t, const struct bloomfile_key *keys, size_t count,
                     struct answer *answers)
{
    struct pending p;
    p.count = count;
    for (size_t i = 0; i < count; i++) {
        p.keys[i] = i;
        p.digests[i] = begin(t, keys[i], &answers[i]);
    }
    for (size_t i = 0; i < t->manifest.count && p.count > 0; i++)
        resolve(&t->tables[i], &p, keys, answers);
}

void tablet_confirm(const struct tablet *t)
{
    for (size_t i = 0; i < t->manifest.count; i++) {
        const struct table *table = &t->tables[i];
        if (filter_was_overwritten(&table->filter))
            errx(2, "%s was overwritten during the query; results may be wrong: run it again",
                 table->embedded ? table->path : table->filter_path);
    }
}
