/* SPDX-License-Identifier: MIT
 *
 * The plan of a fold: the rate and size after folding by each factor, in one pass over the body.
 *
 * The factors form a tree. The parent of factor F is F / p, where p is the least prime factor of F,
 * because a fold by F is a fold by F / p and then by p. Each stretch of the body is folded down the
 * tree, in the cache. An incomplete unit at the end of a stretch is carried over to the next
 * stretch.
 */
#include <bloomfile_combine.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "combine/combine.h"
#include "format/min.h"
#include "kernel/dispatch.h"
#include "sizing/sizing.h"

/* ---- divisors, by trial division */

static uint64_t divisors_least_prime(uint64_t n)
{
    if (n % 2 == 0)
        return 2;
    for (uint64_t p = 3; p <= n / p; p += 2)
        if (n % p == 0)
            return p;
    return n;
}

static size_t divisors_count(uint64_t n)
{
    size_t count = 1;
    while (n > 1) {
        uint64_t p = divisors_least_prime(n);
        size_t power = 0;
        for (; n % p == 0; n /= p)
            power++;
        count *= power + 1;
    }
    return count;
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

/* Returns the divisors of n in ascending order, from malloc(); or NULL. */
static uint64_t *divisors_of(uint64_t n, size_t *count)
{
    uint64_t *list = malloc(divisors_count(n) * sizeof *list);
    if (list == NULL)
        return NULL;
    list[0] = 1;
    *count = 1;
    while (n > 1) {
        const uint64_t p = divisors_least_prime(n);
        const size_t without = *count;
        for (uint64_t power = p; n % p == 0; n /= p, power *= p)
            for (size_t i = 0; i < without; i++)
                list[(*count)++] = list[i] * power;
    }
    qsort(list, *count, sizeof *list, ascending);
    return list;
}

/* ---- the tree of factors */

struct node {
    uint64_t factor, step; /* the parent's factor times step */
    struct node *parent, *child, *sibling;
    struct kernel_tally tally;
    uint64_t done;  /* units that were folded into the children before this stretch */
    uint8_t *units; /* units of this stretch; the first may be carried over from the last stretch,
                       except in the root */
};

struct plan {
    struct node *nodes; /* ascending; the first is the root */
    size_t count;
    void (*project)(uint8_t *to, const uint8_t *from, size_t size); /* counters to bits, or NULL */
    uint32_t layout; /* layout of the nodes: of the source or of its projection */
    const struct kernel *kernel;
    uint8_t *stretch; /* the input of project(); without project(), the source is read into the
                         root's units */
};

static struct node *node_of(const struct plan *plan, uint64_t factor)
{
    size_t low = 0, high = plan->count;
    while (high - low > 1) {
        size_t middle = low + (high - low) / 2;
        if (plan->nodes[middle].factor <= factor)
            low = middle;
        else
            high = middle;
    }
    return &plan->nodes[low];
}

static int plant(struct plan *plan, uint64_t units)
{
    uint64_t *factors = divisors_of(units, &plan->count);
    if (factors != NULL)
        plan->nodes = calloc(plan->count, sizeof *plan->nodes);
    if (plan->nodes == NULL) {
        free(factors);
        plan->count = 0;
        return ENOMEM;
    }
    for (size_t i = 0; i < plan->count; i++)
        plan->nodes[i].factor = factors[i];
    for (size_t i = 1; i < plan->count; i++) {
        struct node *node = &plan->nodes[i];
        node->step = divisors_least_prime(node->factor);
        node->parent = node_of(plan, node->factor / node->step);
        node->sibling = node->parent->child;
        node->parent->child = node;
    }
    free(factors);
    return 0;
}

static void cut_down(struct plan *plan)
{
    for (size_t i = 0; i < plan->count; i++)
        free(plan->nodes[i].units);
    free(plan->nodes);
    free(plan->stretch);
}

/* Allocates room for a stretch of that many units in every node, and for a word after it. */
static int allocate_stretches(struct plan *plan, uint64_t stretch)
{
    if (plan->project != NULL && (plan->stretch = malloc(SOURCE_STRETCH)) == NULL)
        return ENOMEM;
    for (size_t i = 0; i < plan->count; i++) {
        struct node *node = &plan->nodes[i];
        const uint64_t units = stretch / node->factor + 2;
        node->units = calloc(1, (size_t)geometry_bytes_of(plan->layout, units) + 8);
        if (node->units == NULL)
            return ENOMEM;
    }
    return 0;
}

/* Moves unit number `count`, which is incomplete, from `units` to `unit`: whole bytes, or a bit. */
static void take_last(uint32_t layout, uint8_t *units, uint64_t count, uint8_t *unit)
{
    const size_t size = layout_unit_bits(layout) / 8;
    if (size > 0) {
        memcpy(unit, units + count * size, size);
        return;
    }
    *unit = units[count / 8] >> count % 8 & 1;
    units[count / 8] &= (uint8_t) ~(1u << count % 8);
}

/* Counts the set bits of a node's units, and folds these units into the children. */
static void pass(const struct plan *plan, struct node *node, uint64_t count)
{
    const uint32_t layout = plan->layout;
    plan->kernel->tally(node->units, (size_t)geometry_bytes_of(layout, count), &node->tally);
    for (struct node *child = node->child; child != NULL; child = child->sibling) {
        const uint64_t within = node->done % child->step;
        const uint64_t complete = (within + count) / child->step;
        uint8_t unit[LAYOUT_UNIT_MOST] = { 0 };
        plan->kernel->fold(child->units, node->units, within, count, child->step);
        take_last(layout, child->units, complete, unit);
        if (complete > 0)
            pass(plan, child, complete);
        memset(child->units, 0, (size_t)geometry_bytes_of(layout, complete + 1));
        memcpy(child->units, unit, (size_t)geometry_bytes_of(layout, 1));
    }
    node->done += count;
}

static void pass_stretch(const struct plan *plan, struct source *s, size_t size, uint64_t count)
{
    struct node *root = plan->nodes;
    if (plan->project != NULL) {
        source_stretch(s, plan->stretch, size);
        memset(root->units, 0, size / 4 + 1);
        plan->project(root->units, plan->stretch, size);
    } else {
        source_stretch(s, root->units, size);
    }
    pass(plan, root, count);
}

static int walk(const struct plan *plan, struct source *s, uint64_t stretch)
{
    const struct header *h = &s->f->header;
    const uint64_t units = s->f->view.units;
    int error = source_status(s);
    for (uint64_t first = 0, n; error == 0 && (n = MIN(units - first, stretch)) > 0; first += n) {
        const size_t size = (size_t)geometry_bytes_of(h->layout, n);
        pass_stretch(plan, s, size, n);
        error = source_status(s);
    }
    return error != 0 ? error : source_verdict(s);
}

static struct bloomfile_fold_choice choice_of(const struct header *h, const struct node *node,
                                              uint64_t more)
{
    const uint64_t m = h->m / node->factor, ones = node->tally.ones;
    const uint64_t *blocks = node->tally.blocks;
    const struct sizing *sizing = sizing_of(h->layout);
    return (struct bloomfile_fold_choice){
        .factor = node->factor,
        .bits = m,
        .image_size = geometry_of(h->layout, m, GEOMETRY_FILE_HEADER).image_size,
        .ones = ones,
        .fpr = sizing->measured(m, h->k, ones, blocks),
        .fpr_more = sizing->after(m, h->k, ones, blocks, more),
    };
}

int bloomfile_fold_plan(const bloomfile_filter *src, uint64_t more,
                        struct bloomfile_fold_choice *choices, size_t *count)
{
    const int refused = header_refuse_partial(&src->header);
    if (refused != 0)
        return refused;
    if (layout_of(src->header.layout)->solved)
        return BLOOMFILE_EISRIBBON;
    if (choices == NULL) {
        *count = divisors_count(src->view.units);
        return 0;
    }
    const uint32_t layout = src->header.layout;
    const uint64_t stretch = geometry_units_in(layout, SOURCE_STRETCH);
    const uint32_t projection = layout_of(layout)->projection;
    struct plan plan = { .project = src->kernel->project,
                         .layout = projection != 0 ? projection : layout };
    plan.kernel = kernel_for(plan.layout);
    struct source s;
    int error = plant(&plan, src->view.units);
    if (error == 0)
        error = allocate_stretches(&plan, stretch);
    if (error != 0) {
        cut_down(&plan);
        return error;
    }
    error = source_start(&s, src);
    if (error == 0)
        error = walk(&plan, &s, stretch);
    source_release(&s);
    for (size_t i = 0; error == 0 && i < plan.count && i < *count; i++)
        choices[i] = choice_of(&src->header, &plan.nodes[i], more);
    if (error == 0)
        *count = plan.count;
    cut_down(&plan);
    return error;
}
