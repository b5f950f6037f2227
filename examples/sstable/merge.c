/* SPDX-License-Identifier: MIT */
#include "merge.h"

#include <errno.h>
#include <stdlib.h>

struct cursor {
    const struct table *table;
    struct mtbl_iter *rows;
    uint64_t passed;
    struct bytes key, stored;
};

/* A heap of cursors, the least key on top and of equal keys the newest. */
struct merge {
    size_t count, all;
    bool started;
    struct cursor **heap;
    struct cursor cursors[];
};

/* The cursors of newer tables come first in memory. */
static bool before(const struct cursor *a, const struct cursor *b)
{
    const int difference = bytes_compare(a->key, b->key);
    return difference < 0 || (difference == 0 && a < b);
}

static void sift_down(struct merge *m, size_t at)
{
    struct cursor *const moving = m->heap[at];
    for (size_t child; (child = 2 * at + 1) < m->count; at = child) {
        if (child + 1 < m->count && before(m->heap[child + 1], m->heap[child]))
            child++;
        if (before(moving, m->heap[child]))
            break;
        m->heap[at] = m->heap[child];
    }
    m->heap[at] = moving;
}

static bool advance(struct cursor *c)
{
    const bool has_row =
        c->rows != NULL && mtbl_iter_next(c->rows, &c->key.data, &c->key.size, &c->stored.data,
                                          &c->stored.size) == mtbl_res_success;
    c->passed += has_row;
    return has_row;
}

/* Only for the top and its children: what comes into the place is not less than the top. */
static void advance_at(struct merge *m, size_t at)
{
    if (!advance(m->heap[at]))
        m->heap[at] = m->heap[--m->count];
    if (at < m->count)
        sift_down(m, at);
}

/* Which cursor comes after the top. */
static size_t second(const struct merge *m)
{
    return m->count > 2 && before(m->heap[2], m->heap[1]) ? 2 : 1;
}

/* The older rows for the key go before the top itself, whose key would not outlive it. */
static void pass_top(struct merge *m)
{
    for (size_t at; m->count > 1; advance_at(m, at)) {
        at = second(m);
        if (bytes_compare(m->heap[at]->key, m->heap[0]->key) != 0)
            break;
    }
    advance_at(m, 0);
}

struct merge *merge_new(const struct table *tables, size_t count)
{
    struct merge *m = calloc(1, sizeof *m + count * sizeof m->cursors[0]);
    if (m == NULL)
        return NULL;
    m->heap = calloc(count, sizeof(struct cursor *));
    if (m->heap == NULL) {
        free(m);
        return NULL;
    }
    m->all = count;
    for (size_t i = 0; i < count; i++) {
        m->cursors[i] =
            (struct cursor){ .table = &tables[i], .rows = mtbl_source_iter(tables[i].rows) };
        if (advance(&m->cursors[i]))
            m->heap[m->count++] = &m->cursors[i];
    }
    for (size_t i = m->count / 2; i-- > 0;)
        sift_down(m, i);
    return m;
}

/* A table that ends early would lose its other rows for good. */
static int check_all_passed(const struct merge *m, const struct reporter *reporter)
{
    for (size_t i = 0; i < m->all; i++) {
        const struct cursor *c = &m->cursors[i];
        if (c->passed != c->table->extent.rows) {
            report(reporter, 0, "cannot read all rows of %s: it is damaged", c->table->path);
            return EBADMSG;
        }
    }
    return 0;
}

int merge_next(struct merge *m, struct row *row, bool *end, const struct reporter *reporter)
{
    if (m->started && m->count > 0)
        pass_top(m);
    m->started = true;
    *end = m->count == 0;
    if (*end)
        return check_all_passed(m, reporter);
    const struct cursor *top = m->heap[0];
    if (row_decode(row, top->key, top->stored))
        return 0;
    report(reporter, 0, "cannot use %s: it has a row that no tablet has written", top->table->path);
    return EBADMSG;
}

void merge_free(struct merge *m)
{
    if (m == NULL)
        return;
    for (size_t i = 0; i < m->all; i++)
        mtbl_iter_destroy(&m->cursors[i].rows);
    free(m->heap);
    free(m);
}
