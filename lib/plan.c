/* SPDX-License-Identifier: MIT
 *
 * What folding by each factor would make, in one pass over the body.
 *
 * The factors form a tree: F hangs below F / p, p being its least prime factor, because folding by
 * F is folding by F / p and then by p. Of a blocked filter, each block passes down the tree: a node
 * ORs p blocks into one, counts its ones, and passes it on. Of the others, each stretch of bits is
 * folded down the tree; its first unit may have been counted with the stretch before.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "bytes.h"
#include "divisors.h"
#include "kernel_fold.h"
#include "kernel_tally.h"
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

    uint8_t *bits;         /* others: of this stretch, folded */
    uint64_t first, count; /* the units they are */
    uint64_t counted;      /* the last unit that was found to be one, plus 1 */
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

static void cut_down(struct plan *plan)
{
    for (size_t i = 0; i < plan->count; i++)
        free(plan->nodes[i].bits);
    free(plan->nodes);
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

static size_t bytes_for(uint64_t bits)
{
    return (size_t)(bits / 8 + 8 + 1);
}

/* Counts the ones of the stretch, and passes it on. */
static void pass_bits(struct node *node)
{
    struct kernel_tally tally = { 0 };
    kernel_tally_classic(node->bits, (size_t)geometry_bytes_of(BLOOMFILE_CLASSIC, node->count),
                         &tally);
    const uint64_t last = node->count - 1;
    const bool again = (node->bits[0] & 1) != 0 && node->counted == node->first + 1;
    node->tally.ones += tally.ones - again;
    if ((node->bits[last / 8] >> last % 8 & 1) != 0)
        node->counted = node->first + last + 1;
    for (struct node *child = node->child; child != NULL; child = child->sibling) {
        const uint64_t within = node->first % child->step;
        child->first = node->first / child->step;
        child->count = (within + node->count - 1) / child->step + 1;
        memset(child->bits, 0, bytes_for(child->count));
        kernel_fold_classic(child->bits, node->bits, within, node->count, child->step);
        pass_bits(child);
    }
}

/* Room for a stretch of so many units in every node. */
static int make_room(struct plan *plan, uint64_t stretch)
{
    for (size_t i = 0; i < plan->count; i++) {
        struct node *node = &plan->nodes[i];
        node->bits = malloc(bytes_for(stretch / node->factor + 2));
        if (node->bits == NULL)
            return ENOMEM;
    }
    return 0;
}

static void pass_stretch(struct plan *plan, const uint8_t *bytes, size_t size, uint64_t first,
                         uint64_t count)
{
    struct node *root = plan->nodes;
    if (plan->layout == BLOOMFILE_CLASSIC) {
        memcpy(root->bits, bytes, size);
    } else {
        memset(root->bits, 0, size / 4 + 1);
        kernel_project(root->bits, bytes, size);
    }
    root->first = first;
    root->count = count;
    pass_bits(root);
}

static int walk(struct plan *plan, struct source *s)
{
    const struct geometry *g = &s->f->geometry;
    const uint64_t stretch = geometry_units_in(plan->layout, SOURCE_STRETCH);
    int error = source_status(s);
    if (error == 0 && plan->layout != BLOOMFILE_BLOCKED)
        error = make_room(plan, stretch);
    for (uint64_t first = 0, n; error == 0 && first < g->units; first += n) {
        n = g->units - first < stretch ? g->units - first : stretch;
        const size_t size = (size_t)geometry_bytes_of(plan->layout, n);
        const uint8_t *bytes = source_take(s, size);
        if (plan->layout == BLOOMFILE_BLOCKED)
            pass_blocks(plan, bytes, size);
        else
            pass_stretch(plan, bytes, size, first, n);
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
    cut_down(&plan);
    return error;
}
