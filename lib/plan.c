/* SPDX-License-Identifier: MIT
 *
 * What folding by each factor would make, in one pass over the body.
 *
 * The factors form a tree: F hangs below F / p, p being its least prime factor, because folding by
 * F is folding by F / p and then by p. Of a blocked filter, each block passes down the tree: a node
 * ORs p blocks into one, counts its ones, and passes it on. Of the others, each stretch is looked
 * at once a factor; if it leaves no unit of F / p zero, it leaves none of F zero.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "divisors.h"
#include "kernel_fold.h"
#include "probe.h"
#include "sizing.h"
#include "source.h"

#define BLOCK_WORDS (PROBE_BLOCK_BYTES / 8)

struct node {
    uint64_t factor, step; /* the parent's factor times step */
    struct node *parent, *child, *sibling;
    struct kernel_tally tally;

    uint64_t taken; /* blocked: so many of the parent's are in `block` */
    uint64_t block[BLOCK_WORDS];

    uint64_t counted; /* others: kernel_count_folded() */
    bool full;        /* by this stretch alone */
};

struct plan {
    struct node *nodes; /* ascending; the first is the root */
    size_t count;
    uint32_t layout;
};

static struct node *find(const struct plan *plan, uint64_t factor)
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
    if (factors == NULL || plan->nodes == NULL) {
        free(factors);
        return ENOMEM;
    }
    for (size_t i = 0; i < plan->count; i++)
        plan->nodes[i].factor = factors[i];
    for (size_t i = 1; i < plan->count; i++) {
        struct node *node = &plan->nodes[i];
        node->step = divisors_least_prime(node->factor);
        node->parent = find(plan, node->factor / node->step);
        node->sibling = node->parent->child;
        node->parent->child = node;
    }
    free(factors);
    return 0;
}

static void pass_block(struct node *node, const uint64_t *block)
{
    unsigned ones = 0;
    for (unsigned w = 0; w < BLOCK_WORDS; w++)
        ones += (unsigned)__builtin_popcountll(block[w]);
    node->tally.ones += ones;
    node->tally.blocks[ones]++;
    for (struct node *child = node->child; child != NULL; child = child->sibling) {
        for (unsigned w = 0; w < BLOCK_WORDS; w++)
            child->block[w] |= block[w];
        if (++child->taken == child->step) {
            pass_block(child, child->block);
            child->taken = 0;
            memset(child->block, 0, sizeof child->block);
        }
    }
}

static void pass_blocks(struct plan *plan, const uint8_t *bytes, size_t size)
{
    for (size_t at = 0; at < size; at += PROBE_BLOCK_BYTES) {
        uint64_t block[BLOCK_WORDS];
        for (unsigned w = 0; w < BLOCK_WORDS; w++)
            block[w] = get64(bytes + at + 8 * w);
        pass_block(plan->nodes, block);
    }
}

static void count_bits(struct plan *plan, const uint8_t *bits, uint64_t first, uint64_t count)
{
    for (size_t i = 0; i < plan->count; i++) {
        struct node *node = &plan->nodes[i];
        const uint64_t from = first / node->factor, to = (first + count - 1) / node->factor;
        const uint64_t groups = to - from + 1 - (node->counted == from + 1);
        uint64_t ones = groups;
        if (node->parent != NULL && node->parent->full)
            node->counted = to + 1;
        else
            ones = kernel_count_folded(bits, first, count, node->factor, &node->counted);
        node->tally.ones += ones;
        node->full = ones == to - from + 1;
    }
}

static void pass_counters(struct plan *plan, const uint8_t *bytes, uint64_t first, uint64_t count)
{
    uint8_t bits[4096];
    while (count > 0) {
        const uint64_t n = count < 8 * sizeof bits ? count : 8 * sizeof bits;
        memset(bits, 0, sizeof bits);
        kernel_project(bits, bytes, (size_t)(n / 2 + n % 2));
        count_bits(plan, bits, first, n);
        bytes += 4 * sizeof bits;
        first += n;
        count -= n;
    }
}

static int walk(struct plan *plan, struct source *s)
{
    const struct geometry *g = &s->f->geometry;
    const uint64_t stretch = geometry_units_in(plan->layout, SOURCE_STRETCH);
    int error = source_status(s);
    for (uint64_t first = 0, n; error == 0 && first < g->units; first += n) {
        n = g->units - first < stretch ? g->units - first : stretch;
        const size_t size = (size_t)geometry_bytes_of(plan->layout, n);
        const uint8_t *bytes = source_take(s, size);
        if (plan->layout == BLOOMFILE_BLOCKED)
            pass_blocks(plan, bytes, size);
        else if (plan->layout == BLOOMFILE_CLASSIC)
            count_bits(plan, bytes, first, n);
        else
            pass_counters(plan, bytes, first, n);
        error = source_status(s);
    }
    return error != 0 ? error : source_verdict(s);
}

static struct bloomfile_fold_choice choose(const struct header *h, const struct node *node,
                                           uint64_t more)
{
    const uint64_t m = h->m / node->factor, ones = node->tally.ones;
    const uint64_t *blocks = node->tally.blocks;
    return (struct bloomfile_fold_choice){
        .factor = node->factor,
        .bits = m,
        .image_size = geometry_of(h->layout, m, GEOMETRY_FILE_HEADER).image_size,
        .ones = ones,
        .fpr = sizing_measured_fpr(h->layout, m, h->k, ones, blocks),
        .fpr_more = sizing_fpr_after(h->layout, m, h->k, ones, blocks, more),
    };
}

int bloomfile_fold_plan(const bloomfile *src, uint64_t more, struct bloomfile_fold_choice *choices,
                        size_t *count)
{
    if (choices == NULL) {
        *count = divisors_count(src->units);
        return 0;
    }
    struct plan plan = { .layout = src->header.layout };
    struct source s;
    int error = plant(&plan, src->units);
    if (error != 0)
        return error;
    error = source_start(&s, src);
    if (error == 0)
        error = walk(&plan, &s);
    source_release(&s);
    for (size_t i = 0; error == 0 && i < plan.count && i < *count; i++)
        choices[i] = choose(&src->header, &plan.nodes[i], more);
    if (error == 0)
        *count = plan.count;
    free(plan.nodes);
    return error;
}
