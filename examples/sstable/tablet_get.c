/* SPDX-License-Identifier: MIT */
#include "tablet.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* ---- one table */

static int keep_value(struct answer *answer, struct bytes value)
{
    if (answer->room < value.size || answer->data == NULL) {
        uint8_t *larger = realloc(answer->data, value.size + 1);
        if (larger == NULL)
            return ENOMEM;
        answer->data = larger;
        answer->room = value.size + 1;
    }
    memcpy(answer->data, value.data, value.size);
    answer->size = value.size;
    return 0;
}

static int take_row(const struct table *table, struct bytes key, struct bytes stored,
                    struct answer *answer, const struct reporter *reporter)
{
    struct row row;
    if (!row_decode(&row, key, stored)) {
        report(reporter, 0, "cannot use %s: it has a row that no tablet has written", table->path);
        return EBADMSG;
    }
    answer->found = !row.deleted;
    const int error = row.deleted ? 0 : keep_value(answer, row.value);
    return error == 0 ? 0 : report(reporter, error, "cannot keep a value of %s", table->path);
}

/* *resolved: the table has a row for the key, if only that it is deleted. Each search has an
 * iterator of its own, so threads do not meet: all that they share of a reader is the mapped file.
 */
static int search(const struct table *table, struct bytes key, struct answer *answer,
                  bool *resolved, const struct reporter *reporter)
{
    struct bytes same, stored;
    struct mtbl_iter *rows = mtbl_source_get(table->rows, key.data, key.size);
    answer->searched++;
    *resolved = rows != NULL && mtbl_iter_next(rows, &same.data, &same.size, &stored.data,
                                               &stored.size) == mtbl_res_success;
    const int error = *resolved ? take_row(table, key, stored, answer, reporter) : 0;
    mtbl_iter_destroy(&rows);
    return error;
}

/* Damage turns a filter's "no" into "maybe", so it is looked for only then. */
static void watch(struct table *table, const struct reporter *reporter)
{
    const int error = bloomfile_status(table->filter);
    if (error != 0 && !atomic_flag_test_and_set(&table->damage_reported))
        report(reporter, error, "%s: the filter is damaged, more lookups than usual search %s",
               table->embedded ? table->path : table->filter_path, table->path);
}

/* ---- one key */

/* All filters are asked before any table is read: these are 20 times a cache line that must be
 * fetched, and the processor fetches many at once. */
static void ask_filters(const struct tablet *t, bloomfile_digest digest, bool *maybe)
{
    for (size_t i = 0; i < t->manifest.count; i++) {
        const bloomfile *filter = t->tables[i].filter;
        maybe[i] = filter == NULL || bloomfile_contains_digest(filter, digest);
    }
}

int tablet_get(const struct tablet *t, struct bytes key, struct answer *answer)
{
    bool maybe[MANIFEST_TABLES], resolved = false;
    int error = 0;
    answer->found = false;
    answer->searched = 0;
    ask_filters(t, bloomfile_hash(t->seed, key.data, key.size), maybe);
    for (size_t i = 0; i < t->manifest.count && !resolved && error == 0; i++) {
        if (!maybe[i])
            continue;
        if (t->tables[i].filter != NULL)
            watch(&t->tables[i], t->reporter);
        error = search(&t->tables[i], key, answer, &resolved, t->reporter);
    }
    return error;
}

/* ---- many keys */

/* What is known of the keys that no table has resolved yet: their numbers and digests. */
struct pending {
    size_t count, *keys;
    bloomfile_digest *digests;
    bool *maybe;
};

static int pending_start(struct pending *p, const struct tablet *t, const struct bytes *keys,
                         size_t count)
{
    p->count = count;
    p->keys = calloc(count, sizeof *p->keys);
    p->digests = calloc(count, sizeof *p->digests);
    p->maybe = calloc(count, sizeof *p->maybe);
    if (p->keys == NULL || p->digests == NULL || p->maybe == NULL)
        return report(t->reporter, ENOMEM, "cannot look up %zu keys at once", count);
    for (size_t i = 0; i < count; i++) {
        p->keys[i] = i;
        p->digests[i] = bloomfile_hash(t->seed, keys[i].data, keys[i].size);
    }
    return 0;
}

static void pending_end(struct pending *p)
{
    free(p->keys);
    free(p->digests);
    free(p->maybe);
}

static void ask_filter(struct table *table, struct pending *p, const struct reporter *reporter)
{
    if (table->filter == NULL)
        memset(p->maybe, true, p->count * sizeof *p->maybe);
    else if (bloomfile_contains_digests(table->filter, p->digests, p->count, p->maybe) > 0)
        watch(table, reporter);
}

/* Searches one table for the keys that it may have; those it has are not pending any more. */
static int resolve(const struct tablet *t, struct table *table, struct pending *p,
                   const struct bytes *keys, struct answer *answers)
{
    size_t left = 0;
    ask_filter(table, p, t->reporter);
    for (size_t i = 0; i < p->count; i++) {
        const size_t key = p->keys[i];
        bool resolved = false;
        if (p->maybe[i]) {
            const int error = search(table, keys[key], &answers[key], &resolved, t->reporter);
            if (error != 0)
                return error;
        }
        if (!resolved) {
            p->keys[left] = key;
            p->digests[left++] = p->digests[i];
        }
    }
    p->count = left;
    return 0;
}

int tablet_get_many(const struct tablet *t, const struct bytes *keys, size_t count,
                    struct answer *answers)
{
    struct pending p;
    for (size_t i = 0; i < count; i++) {
        answers[i].found = false;
        answers[i].searched = 0;
    }
    int error = pending_start(&p, t, keys, count);
    for (size_t i = 0; i < t->manifest.count && p.count > 0 && error == 0; i++)
        error = resolve(t, &t->tables[i], &p, keys, answers);
    pending_end(&p);
    return error;
}
