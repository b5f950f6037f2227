/* SPDX-License-Identifier: MIT
 * Slices of a filter, and the filter that they make (format-spec.md, section 23). */
#include <bloomfile_combine.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "combine/combine.h"
#include "format/portion.h"
#include "format/probe.h"

uint32_t bloomfile_slice_of(uint64_t bits, uint32_t slices, bloomfile_digest digest)
{
    const uint64_t blocks = bits / PROBE_BLOCK_BITS;
    if (blocks == 0 || slices == 0)
        return 0;
    return portion_slice_of(blocks, probe_reduce(digest, blocks), slices);
}

void bloomfile_slice_range(const bloomfile *f, bloomfile_digest *first, bloomfile_digest *last)
{
    const struct header *h = &f->header;
    *first = 0;
    *last = UINT64_MAX;
    if (!header_is_slice(h))
        return;
    *first = probe_least_digest(h->first_block, h->whole_blocks);
    *last = probe_last_digest(h->first_block + f->geometry.units, h->whole_blocks);
}

/* ---- the whole */

static int by_place(const void *a, const void *b)
{
    const bloomfile *const *x = a, *const *y = b;
    const uint64_t at = (*x)->header.first_block, other = (*y)->header.first_block;
    return at < other ? -1 : at > other;
}

/* Whether both are of one filter: all that its header will say. */
static bool same_filter(const struct header *a, const struct header *b)
{
    return a->layout == b->layout && a->hash_id == b->hash_id && a->self_test == b->self_test &&
           a->seed == b->seed && a->k == b->k && a->whole_blocks == b->whole_blocks &&
           a->capacity == b->capacity && a->fpr == b->fpr &&
           ((a->provenance ^ b->provenance) & SOURCE_PROVENANCE) == 0 && a->framing == b->framing &&
           memcmp(a->tag, b->tag, sizeof a->tag) == 0 &&
           memcmp(a->label, b->label, sizeof a->label) == 0;
}

/* Whether each begins where the one before ends, from the first block to the last. */
static bool is_complete(const bloomfile *const *slices, size_t count)
{
    uint64_t next = 0;
    for (size_t i = 0; i < count; i++) {
        const struct header *h = &slices[i]->header;
        if (!same_filter(&slices[0]->header, h) || h->first_block != next)
            return false;
        next += slices[i]->geometry.units;
    }
    return next == slices[0]->header.whole_blocks;
}

static int describe_whole(struct header *h, const bloomfile *const *slices, size_t count)
{
    uint64_t keys = 0;
    uint32_t flags = 0;
    for (size_t i = 0; i < count; i++) {
        int error = source_describe(slices[i], h);
        if (error != 0)
            return error;
        flags |= h->record.flags | (keys > UINT64_MAX - h->record.n ? RECORD_N_ESTIMATED : 0);
        keys = keys > UINT64_MAX - h->record.n ? UINT64_MAX : keys + h->record.n;
    }
    h->m = h->m_unfolded = h->whole_blocks * PROBE_BLOCK_BITS;
    h->first_block = h->whole_blocks = 0;
    h->record.n = keys;
    h->record.flags = flags;
    return 0;
}

static int put_slice(struct new_image *r, const bloomfile *f)
{
    struct source s;
    int error = source_start(&s, f);
    if (error == 0)
        error = source_status(&s);
    while (error == 0 && s.at < f->geometry.body_size) {
        const size_t size = source_next(&s, f->geometry.body_size);
        error = new_image_put(r, source_take(&s, size), size);
        if (error == 0)
            error = source_status(&s);
    }
    if (error == 0)
        error = source_verdict(&s);
    source_release(&s);
    return error;
}

static int make_whole(struct destination to, const bloomfile *const *slices, size_t count)
{
    struct header h;
    struct new_image r = { 0 };
    int error = describe_whole(&h, slices, count);
    if (error == 0)
        error = new_image_start(&r, &h, to);
    for (size_t i = 0; error == 0 && i < count; i++)
        error = put_slice(&r, slices[i]);
    if (error == 0) {
        new_image_record(&r, &h.record);
        error = new_image_finish(&r, &h);
    }
    new_image_abandon(&r);
    return error;
}

static int join(struct destination to, const bloomfile *const *slices, size_t count)
{
    if (count == 0)
        return BLOOMFILE_EPARAMS;
    for (size_t i = 0; i < count; i++)
        if (!header_is_slice(&slices[i]->header))
            return BLOOMFILE_EINCOMPLETE;
    const bloomfile **sorted = malloc(count * sizeof *sorted);
    if (sorted == NULL)
        return ENOMEM;
    memcpy(sorted, slices, count * sizeof *sorted);
    qsort(sorted, count, sizeof *sorted, by_place);
    const bool complete = is_complete(sorted, count);
    const int error = complete ? make_whole(to, sorted, count) : BLOOMFILE_EINCOMPLETE;
    free(sorted);
    return error;
}

int bloomfile_join(const char *dst, const bloomfile *const *slices, size_t count, unsigned flags)
{
    return join(new_image_to_file(dst, flags), slices, count);
}

int bloomfile_join_fd(int fd, const bloomfile *const *slices, size_t count, const char *spool)
{
    return join(new_image_to_fd(fd, spool), slices, count);
}

int bloomfile_join_memory(void **image, size_t *size, const bloomfile *const *slices, size_t count)
{
    return join(new_image_to_memory(image, size), slices, count);
}
