/* SPDX-License-Identifier: MIT
 * A merge of sorted runs, by a heap. */
#include "bfcommon/merge.h"
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum {
    HEAD_BATCH = 32
};

/* A run's next keys. */
struct head {
    struct lines *run;
    struct bloomfile_key keys[HEAD_BATCH];
    size_t at, count;
};

struct merge {
    struct head *heads;
    size_t heads_count;
    struct head **heap; /* by the next key, the least first; ended runs are not in it */
    size_t heap_count;
    uint8_t *last; /* key handed out */
    size_t last_size;
    bool has_last;
};

static const struct bloomfile_key *next_of(const struct head *h)
{
    return &h->keys[h->at];
}

/* Lets the head at a place of the heap sink to where it belongs. */
static void sink(struct merge *m, size_t at)
{
    struct head *moved = m->heap[at];
    for (size_t child; (child = 2 * at + 1) < m->heap_count; at = child) {
        if (child + 1 < m->heap_count &&
            lines_compare(next_of(m->heap[child + 1]), next_of(m->heap[child])) < 0)
            child++;
        if (lines_compare(next_of(moved), next_of(m->heap[child])) <= 0)
            break;
        m->heap[at] = m->heap[child];
    }
    m->heap[at] = moved;
}

/* False at the end of the run. */
static bool advance(struct head *h)
{
    if (++h->at < h->count)
        return true;
    h->at = 0;
    h->count = lines_next(h->run, h->keys, HEAD_BATCH);
    return h->count > 0;
}

struct merge *merge_open(const struct runs *runs, size_t first, size_t count, size_t room)
{
    struct merge *m = calloc(1, sizeof(*m));
    size_t longest = runs->spool->longest;
    if (m == NULL || (m->heads = calloc(count + 1, sizeof(*m->heads))) == NULL ||
        (m->heap = calloc(count + 1, sizeof(*m->heap))) == NULL ||
        (m->last = malloc(longest + 1)) == NULL)
        cli_fail(ENOMEM, "cannot merge sorted keys");
    m->heads_count = count;
    for (size_t i = 0; i < count; i++) {
        size_t number = first + i;
        const struct run_end *end = &runs->ends[number];
        uint64_t from = number == 0 ? 0 : end[-1].at;
        struct stretch where = spool_part(runs->spool, from, end->at, end->sum, room);
        struct head *h = &m->heads[i];
        h->run = lines_open(&runs->spool->form, &where);
        if (advance(h))
            m->heap[m->heap_count++] = h;
    }
    for (size_t i = m->heap_count / 2; i-- > 0;)
        sink(m, i);
    return m;
}

static void drop_first(struct merge *m)
{
    if (!advance(m->heap[0]))
        m->heap[0] = m->heap[--m->heap_count];
    if (m->heap_count > 0)
        sink(m, 0);
}

bool merge_next(struct merge *m, struct bloomfile_key *key)
{
    struct bloomfile_key last = { m->last, m->last_size };
    while (m->has_last && m->heap_count > 0 && lines_compare(next_of(m->heap[0]), &last) == 0)
        drop_first(m);
    if (m->heap_count == 0)
        return false;
    *key = *next_of(m->heap[0]);
    if (key->size > 0)
        memcpy(m->last, key->data, key->size);
    m->last_size = key->size;
    m->has_last = true;
    return true;
}

void merge_close(struct merge *m)
{
    if (m == NULL)
        return;
    for (size_t i = 0; i < m->heads_count; i++)
        lines_close(m->heads[i].run);
    free(m->heads);
    free(m->heap);
    free(m->last);
    free(m);
}
