/* SPDX-License-Identifier: MIT
 * Checking that the sources are all slices of one filter. bloomfile_join() would also refuse other
 * sources, but cannot name the file. */
#include "bfmerge/sources.h"
#include "cli/cli.h"
#include "filters/messages.h"
#include "filters/overfull.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define BLOCK_BITS 512u

enum {
    DESCRIPTION_SIZE = 5000
};

static uint64_t end_of(const struct merge_source *slice)
{
    return slice->info.first_block + slice->info.bits / BLOCK_BITS;
}

static int by_place(const void *a, const void *b)
{
    const struct merge_source *const *x = a, *const *y = b;
    const uint64_t at = (*x)->info.first_block, other = (*y)->info.first_block;
    if (at != other)
        return at < other ? -1 : 1;
    return *x < *y ? -1 : *x > *y; /* by address: in the order of the command line */
}

/* A property in which slices of a filter must not differ, and the options that set it. */
struct difference {
    const char *what, *options; /* NULL: no difference; no such options */
};

static struct difference difference(const struct bloomfile_info *a, const struct bloomfile_info *b)
{
    if (a->whole_blocks != b->whole_blocks)
        return (struct difference){ "the size of the filter", "-n, -p and -m" };
    if (a->hashes != b->hashes)
        return (struct difference){ "the number of hashes", "-n, -p and -k" };
    if (a->seed != b->seed)
        return (struct difference){ "the seed", "-s" };
    if (a->hash_id != b->hash_id || a->self_test != b->self_test)
        return (struct difference){ "the hash function", NULL };
    if (a->capacity != b->capacity)
        return (struct difference){ "the capacity", "-n" };
    if (a->fpr != b->fpr)
        return (struct difference){ "the rate", "-p" };
    if (a->key_kind != b->key_kind || a->key_size != b->key_size)
        return (struct difference){ "the kind of keys", "key options, such as -x" };
    if (memcmp(a->tag, b->tag, sizeof(a->tag)) != 0)
        return (struct difference){ "the tag", "--tag" };
    if (strcmp(a->label, b->label) != 0)
        return (struct difference){ "the label", "--label" };
    return (struct difference){ NULL, NULL };
}

static _Noreturn void fail_for_difference(const struct merge_source *slice,
                                          const struct merge_source *first, struct difference d)
{
    char remedy[80] = "";
    if (d.options != NULL)
        snprintf(remedy, sizeof(remedy), " (make all slices with the same %s)", d.options);
    cli_fail(0, "cannot join %s: it is a slice of a different filter than %s: %s differs%s",
             slice->name, first->name, d.what, remedy);
}

static _Noreturn void fail_for_missing(const struct merge_sources *s, uint64_t from, uint64_t to)
{
    cli_fail(0,
             "cannot join the slices: blocks %" PRIu64 " to %" PRIu64 " of %" PRIu64
             " are missing (bfinspect shows the blocks of each slice)",
             from, to - 1, s->list[0].info.whole_blocks);
}

/* Returns memory from malloc(). */
static const struct merge_source **sorted_by_place(const struct merge_sources *s)
{
    const struct merge_source **sorted = calloc(s->count, sizeof(*sorted));
    if (sorted == NULL)
        cli_fail(ENOMEM, "cannot hold more filters");
    for (size_t i = 0; i < s->count; i++)
        sorted[i] = &s->list[i];
    qsort(sorted, s->count, sizeof(*sorted), by_place);
    return sorted;
}

/* Checks that each slice begins where the previous slice ends, from the first block to the last. */
static void check_places(const struct merge_sources *s)
{
    const struct merge_source **sorted = sorted_by_place(s), *before = NULL, *slice = NULL;
    uint64_t next = 0;
    size_t i = 0;
    for (; i < s->count && sorted[i]->info.first_block == next; i++) {
        before = sorted[i];
        next = end_of(before);
    }
    slice = i < s->count ? sorted[i] : NULL;
    free(sorted);
    if (slice != NULL && slice->info.first_block < next)
        cli_fail(0, "cannot join %s: %s has the block %" PRIu64 " already", slice->name,
                 before->name, slice->info.first_block);
    if (slice != NULL)
        fail_for_missing(s, next, slice->info.first_block);
    if (next != s->list[0].info.whole_blocks)
        fail_for_missing(s, next, s->list[0].info.whole_blocks);
}

/* Returns a slice that was made from other keys than the first slice, or NULL. */
static const struct merge_source *given_others(const struct merge_sources *s)
{
    const struct bloomfile_info *first = &s->list[0].info;
    for (size_t i = 1; i < s->count; i++) {
        const struct bloomfile_info *info = &s->list[i].info;
        if (info->keys_read != first->keys_read || info->digest_sum != first->digest_sum)
            return &s->list[i];
    }
    return NULL;
}

/* Keys that a slice omits are certainly in another slice only if both were made from
 * the same keys. */
static void check_keys(const struct merge_sources *s)
{
    const struct merge_source *other = given_others(s), *leaves_out = NULL;
    for (size_t i = 0; i < s->count && leaves_out == NULL; i++)
        leaves_out = s->list[i].info.keys_elsewhere > 0 ? &s->list[i] : NULL;
    if (other == NULL || leaves_out == NULL)
        return;
    cli_fail(0,
             "cannot join %s: it omits %" PRIu64 " of the %" PRIu64
             " keys it read, and no other slice may have them: %s and %s were made from different "
             "keys (make every slice from the same keys)",
             leaves_out->name, leaves_out->info.keys_elsewhere, leaves_out->info.keys_read,
             s->list[0].name, other->name);
}

void merge_slices_check(const struct merge_sources *s, bool as_is)
{
    for (size_t i = 0; i < s->count; i++) {
        const struct merge_source *slice = &s->list[i];
        if (slice->info.whole_blocks == 0)
            cli_fail(0, "cannot join %s: it is not a slice (to merge filters, leave out --slices)",
                     slice->name);
        const struct difference d = difference(&s->list[0].info, &slice->info);
        if (d.what != NULL)
            fail_for_difference(slice, &s->list[0], d);
    }
    check_places(s);
    if (!as_is)
        check_keys(s);
}

/* Applies the same limit as bfcreate to a single build of all keys. */
void merge_slices_check_capacity(const struct merge_sources *s, const char *whole)
{
    char is[32], promised[32];
    struct bloomfile_info info = s->list[0].info;
    info.bits = info.whole_blocks * BLOCK_BITS;
    info.keys = 0;
    for (size_t i = 0; i < s->count; i++) {
        if (__builtin_add_overflow(info.keys, s->list[i].info.keys, &info.keys))
            info.keys = UINT64_MAX;
    }
    const double rate = message_expected(&info, info.keys);
    if (overfull_is_over(rate, message_promised(&info)))
        cli_fail(0,
                 "cannot create %s: over capacity: %" PRIu64 " keys in a filter sized for %" PRIu64
                 " would have a false-positive rate of %s, target %s (make all slices with a larger"
                 " -n; to accept the rate: --overfull)",
                 whole, info.keys, info.capacity, cli_percent(is, sizeof(is), rate),
                 cli_percent(promised, sizeof(promised), message_promised(&info)));
}
