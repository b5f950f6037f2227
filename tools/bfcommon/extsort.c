/* SPDX-License-Identifier: MIT
 * External sorting of keys: runs that fit in memory are sorted, then merged. */
#include "bfcommon/extsort.h"
#include "bfcommon/merge.h"
#include "bfcommon/order.h"
#include "cli/cli.h"
#include "format/min.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    LEAST_ROOM = 1 << 16, /* to read a run with */
    MOST_ROOM = 1 << 20
};

struct extsort {
    const char *folder;
    struct keys_options form;
    uint8_t *memory; /* keys from the front, entries from the back */
    size_t size, used, count;
    size_t next; /* entry to hand out, if all fits into memory */
    struct runs runs;
    struct merge *merge;
};

uint64_t extsort_needs(uint64_t keys, uint64_t bytes)
{
    return bytes + keys * (ORDER_SIZE_BYTES + sizeof(struct entry)) + sizeof(struct entry);
}

struct extsort *extsort_new(const char *folder, const struct keys_options *form, size_t memory)
{
    struct extsort *s = calloc(1, sizeof(*s));
    size_t size = memory / sizeof(struct entry) * sizeof(struct entry);
    uint8_t *piece = malloc(size);
    if (s == NULL || piece == NULL)
        cli_fail(ENOMEM, "cannot sort keys");
    *s = (struct extsort){ .folder = folder, .form = *form, .memory = piece, .size = size };
    return s;
}

static struct entry *entries(const struct extsort *s)
{
    return (struct entry *)(void *)(s->memory + s->size) - s->count;
}

/* The next sorted key in memory that differs from the one before it. */
static bool next_in_memory(struct extsort *s, struct bloomfile_key *key)
{
    const struct entry *e = entries(s);
    for (; s->next < s->count; s->next++) {
        *key = order_key(s->memory, e[s->next].at);
        if (s->next > 0) {
            struct bloomfile_key before = order_key(s->memory, e[s->next - 1].at);
            if (lines_compare(&before, key) == 0)
                continue;
        }
        s->next++;
        return true;
    }
    return false;
}

static void sort_memory(struct extsort *s)
{
    order_sort(s->memory, entries(s), s->count);
    s->next = 0;
}

static void end_run(struct runs *runs)
{
    struct run_end *ends = reallocarray(runs->ends, runs->count + 1, sizeof(*ends));
    if (ends == NULL)
        cli_fail(ENOMEM, "cannot sort keys");
    runs->ends = ends;
    runs->ends[runs->count++] = (struct run_end){ runs->spool->bytes, spool_mark(runs->spool) };
}

static void spill(struct extsort *s)
{
    struct bloomfile_key key;
    if (s->runs.spool == NULL)
        s->runs.spool = spool_new(s->folder, &s->form);
    sort_memory(s);
    while (next_in_memory(s, &key))
        spool_add(s->runs.spool, &key);
    end_run(&s->runs);
    s->used = s->count = 0;
}

void extsort_add(struct extsort *s, const struct bloomfile_key *key)
{
    size_t size = ORDER_SIZE_BYTES + key->size + sizeof(struct entry);
    if (size > s->size - s->used - s->count * sizeof(struct entry))
        spill(s);
    uint32_t key_size = (uint32_t)key->size;
    uint8_t *to = s->memory + s->used;
    memcpy(to, &key_size, ORDER_SIZE_BYTES);
    if (key->size > 0)
        memcpy(to + ORDER_SIZE_BYTES, key->data, key->size);
    s->count++;
    entries(s)->at = s->used;
    s->used += ORDER_SIZE_BYTES + key->size;
}

/* How much room each of `count` runs gets. */
static size_t room_for(const struct extsort *s, size_t count)
{
    return MIN(s->size / count, MOST_ROOM);
}

static void merge_some(struct extsort *s, struct runs *to, size_t first, size_t count)
{
    struct bloomfile_key key;
    struct merge *m = merge_open(&s->runs, first, count, room_for(s, count));
    while (merge_next(m, &key))
        spool_add(to->spool, &key);
    merge_close(m);
    end_run(to);
}

static void free_runs(struct runs *runs)
{
    spool_free(runs->spool);
    free(runs->ends);
}

/* Merges runs until there are at most `most` of them. */
static void merge_runs(struct extsort *s, size_t most)
{
    while (s->runs.count > most) {
        struct runs fewer = { .spool = spool_new(s->folder, &s->form) };
        for (size_t at = 0, count; (count = MIN(s->runs.count - at, most)) > 0; at += count)
            merge_some(s, &fewer, at, count);
        spool_flush(fewer.spool);
        free_runs(&s->runs);
        s->runs = fewer;
    }
}

void extsort_finish(struct extsort *s)
{
    if (s->runs.count == 0) {
        sort_memory(s);
        return;
    }
    spill(s);
    spool_flush(s->runs.spool);
    free(s->memory);
    s->memory = NULL;
    size_t room = s->runs.spool->longest + 1;
    merge_runs(s, s->size / (room > LEAST_ROOM ? room : LEAST_ROOM));
    s->merge = merge_open(&s->runs, 0, s->runs.count, room_for(s, s->runs.count));
}

bool extsort_next(struct extsort *s, struct bloomfile_key *key)
{
    return s->merge != NULL ? merge_next(s->merge, key) : next_in_memory(s, key);
}

void extsort_free(struct extsort *s)
{
    merge_close(s->merge);
    free_runs(&s->runs);
    free(s->memory);
    free(s);
}
