/* SPDX-License-Identifier: MIT
 *
 * The rows of several tables as one sequence. */
#include "change.h"

#include <err.h>
#include <stdlib.h>

struct cursor {
    const struct table *table;
    struct mtbl_iter *iterator;
    bool has_row;
    struct row row;
    uint64_t passed;
};

/* The cursors of newer tables come first. */
struct merge {
    size_t count;
    struct cursor *top; /* whose row was returned */
    struct cursor cursors[];
};

/* A table that ends early would lose its other rows for good. */
static void advance(struct cursor *c)
{
    c->has_row = table_next_row(c->table, c->iterator, &c->row);
    c->passed += c->has_row;
    if (!c->has_row && c->passed != c->table->extent.rows)
        errx(2, "cannot read all rows of %s: it is damaged", c->table->path);
}

struct merge *merge_new(const struct table *tables, size_t count)
{
    struct merge *m = not_null(calloc(1, sizeof *m + count * sizeof m->cursors[0]));
    m->count = count;
    for (size_t i = 0; i < count; i++) {
        m->cursors[i] =
            (struct cursor){ .table = &tables[i], .iterator = mtbl_source_iter(tables[i].rows) };
        advance(&m->cursors[i]);
    }
    return m;
}

/* An older row for the key of a newer one is passed by. All tables are looked at for each row: who
 * merges hundreds at once will want a heap. */
bool merge_next(struct merge *m, struct row *row)
{
    if (m->top != NULL)
        advance(m->top);
    m->top = NULL;
    for (struct cursor *c = m->cursors; c < m->cursors + m->count; c++) {
        const int difference = !c->has_row      ? 1
                               : m->top == NULL ? -1
                                                : key_compare(&c->row.key, &m->top->row.key);
        if (difference < 0)
            m->top = c;
        else if (difference == 0)
            advance(c);
    }
    if (m->top != NULL)
        *row = m->top->row;
    return m->top != NULL;
}

void merge_free(struct merge *m)
{
    for (size_t i = 0; i < m->count; i++)
        mtbl_iter_destroy(&m->cursors[i].iterator);
    free(m);
}
