/* SPDX-License-Identifier: MIT
 * Slices of a filter, and joining them (doc/format/slices.md 1). */
#include <bloomfile_combine.h>
#include <bloomfile_unstable.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "combine/combine.h"
#include "format/checksum.h"
#include "format/decode.h"
#include "format/invalid.h"
#include "format/probe.h"
#include "image/body.h"
#include "image/params.h"

uint32_t bloomfile_slice_of(uint64_t bits, uint32_t slices, bloomfile_digest digest)
{
    const uint64_t blocks = bits / PROBE_BLOCK_BITS;
    if (blocks == 0 || slices == 0)
        return 0;
    return partial_slice_of(blocks, probe_reduce(digest, blocks), slices);
}

void bloomfile_slice_range(const bloomfile_filter *f, bloomfile_digest *first,
                           bloomfile_digest *last)
{
    const struct header *h = &f->header;
    *first = 0;
    *last = UINT64_MAX;
    if (!header_is_slice(h))
        return;
    *first = probe_least_digest(h->first_block, h->whole_blocks);
    *last = probe_last_digest(h->first_block + f->geometry.units, h->whole_blocks);
}

uint64_t bloomfile_slice_begin(uint64_t bits, uint32_t slices, uint32_t slice)
{
    const uint64_t blocks = bits / PROBE_BLOCK_BITS;
    return slice > slices || slices == 0 ? 0 : partial_first_block(blocks, slice, slices);
}

/* ---- the header of the whole */

/* A slice, or the header of a slice. */
struct slice_part {
    const struct header *h;
    const bloomfile_filter *f; /* NULL if there is only the header */
};

static uint64_t blocks_of(const struct slice_part *p)
{
    return p->h->m / PROBE_BLOCK_BITS;
}

static int by_place(const void *a, const void *b)
{
    const struct slice_part *x = a, *y = b;
    return x->h->first_block < y->h->first_block ? -1 : x->h->first_block > y->h->first_block;
}

/* Returns whether both slices belong to the same filter, by every field that its header takes from
 * them. The layout is not compared, because all slices are blocked. */
static bool same_filter(const struct header *a, const struct header *b)
{
    return a->hash_id == b->hash_id && a->self_test == b->self_test && a->seed == b->seed &&
           a->k == b->k && a->whole_blocks == b->whole_blocks && a->capacity == b->capacity &&
           a->fpr == b->fpr && ((a->provenance ^ b->provenance) & SOURCE_PROVENANCE) == 0 &&
           a->key_kind == b->key_kind && memcmp(a->tag, b->tag, sizeof a->tag) == 0 &&
           memcmp(a->label, b->label, sizeof a->label) == 0;
}

/* Sorts the slices by their first blocks. Returns BLOOMFILE_EINCOMPLETE unless they are slices of
 * the same filter that cover each block of it exactly once. */
static int order_slices(struct slice_part *parts, size_t count)
{
    uint64_t next = 0;
    for (size_t i = 0; i < count; i++)
        if (!header_is_slice(parts[i].h))
            return BLOOMFILE_EINCOMPLETE;
    qsort(parts, count, sizeof *parts, by_place);
    for (size_t i = 0; i < count; i++) {
        if (!same_filter(parts[0].h, parts[i].h) || parts[i].h->first_block != next)
            return BLOOMFILE_EINCOMPLETE;
        next += blocks_of(&parts[i]);
    }
    return next == parts[0].h->whole_blocks ? 0 : BLOOMFILE_EINCOMPLETE;
}

/* Returns whether each key is in the slice that it belongs to. That is certain if no slice left out
 * keys, or if all slices were given the same keys. */
static bool have_all_keys(const struct slice_part *parts, size_t count)
{
    const struct header *first = parts[0].h;
    bool same = true, nothing_left_out = true;
    for (size_t i = 0; i < count; i++) {
        const struct header *h = parts[i].h;
        nothing_left_out = nothing_left_out && h->keys_elsewhere == 0;
        same = same && h->keys_read == first->keys_read && h->digest_sum == first->digest_sum;
    }
    return nothing_left_out || same;
}

/* Sorts the slices. Returns 0, or the error if they cannot be joined. */
static int check_parts(struct slice_part *parts, size_t count, unsigned flags)
{
    const int error = order_slices(parts, count);
    if (error != 0 || (flags & BLOOMFILE_JOIN_ACCEPT_INCOMPLETE) != 0)
        return error;
    return have_all_keys(parts, count) ? 0 : BLOOMFILE_EINCOMPLETE;
}

/* Makes the header of the whole from those of the slices, except the fields computed from the body.
 * The state stays that of the first slice: sealed. */
static void describe_whole(struct header *h, const struct slice_part *parts, size_t count)
{
    uint64_t keys = 0;
    uint32_t flags = 0;
    for (size_t i = 0; i < count; i++) {
        const struct record *r = &parts[i].h->record;
        flags |=
            (r->flags & RECORD_N_ESTIMATED) | (keys > UINT64_MAX - r->n ? RECORD_N_ESTIMATED : 0);
        keys = keys > UINT64_MAX - r->n ? UINT64_MAX : keys + r->n;
    }
    *h = *parts[0].h;
    h->m = h->m_unfolded = h->whole_blocks * PROBE_BLOCK_BITS;
    h->first_block = h->whole_blocks = 0;
    h->keys_read = h->keys_elsewhere = h->digest_sum = 0;
    h->provenance &= SOURCE_PROVENANCE;
    h->record.n = keys;
    h->record.flags = flags;
    memset(h->record.watermark, 0, sizeof h->record.watermark);
}

/* ---- the whole */

static int put_slice(struct new_image *r, const bloomfile_filter *f)
{
    struct source s;
    uint8_t *stretch = malloc(SOURCE_STRETCH);
    int error = source_start(&s, f);
    if (error == 0)
        error = stretch == NULL ? ENOMEM : source_status(&s);
    while (error == 0 && s.at < f->geometry.body_size) {
        const size_t size = source_next(&s, f->geometry.body_size);
        source_stretch(&s, stretch, size);
        error = new_image_put(r, stretch, size);
        if (error == 0)
            error = source_status(&s);
    }
    if (error == 0)
        error = source_verdict(&s);
    source_release(&s);
    free(stretch);
    return error;
}

static int make_whole(struct destination to, const struct slice_part *parts, size_t count,
                      const struct bloomfile_metadata *m)
{
    struct header h;
    struct new_image r = { 0 };
    describe_whole(&h, parts, count);
    metadata_put(&h, m);
    int error = new_image_start(&r, &h, to);
    for (size_t i = 0; error == 0 && i < count; i++)
        error = put_slice(&r, parts[i].f);
    if (error == 0) {
        new_image_record(&r, &h.record);
        error = new_image_finish(&r, &h);
    }
    new_image_abandon(&r);
    return error;
}

int bloomfile_join(struct bloomfile_destination *given, const bloomfile_filter *const *slices,
                   size_t count, const struct bloomfile_metadata *metadata, unsigned flags)
{
    struct destination to;
    struct bloomfile_metadata m;
    int error = destination_take(&to, given);
    if (error == 0)
        error = metadata_take(&m, metadata);
    if (error == 0 && count == 0)
        error = invalid(BLOOMFILE_EVALUE, "count");
    if (error == 0 && (flags & ~BLOOMFILE_JOIN_ACCEPT_INCOMPLETE) != 0)
        error = invalid(BLOOMFILE_EFLAGS, "flags");
    if (error != 0)
        return error;
    struct slice_part *parts = calloc(count, sizeof *parts);
    if (parts == NULL)
        return ENOMEM;
    for (size_t i = 0; i < count; i++)
        parts[i] = (struct slice_part){ &slices[i]->header, slices[i] };
    error = check_parts(parts, count, flags);
    if (error == 0)
        error = source_destination(&to, slices, count);
    if (error == 0)
        error = make_whole(to, parts, count, &m);
    free(parts);
    return error;
}

/* ---- from headers alone */

/* Decodes a header without its image. The first attempt, with a size that is too large, fails with
 * BLOOMFILE_ETRAILING if all else is valid, and reveals the size that the header declares. */
static int decode_alone(const uint8_t *bytes, struct header *h)
{
    struct header_faults faults = { 0 };
    decode_header(bytes, UINT64_MAX, h, &faults);
    if (faults.first != BLOOMFILE_ETRAILING)
        return faults.first;
    faults = (struct header_faults){ 0 };
    decode_header(bytes, header_whole_size(h), h, &faults);
    return faults.first;
}

static int decode_all(struct slice_part *parts, struct header *decoded, const uint8_t *headers,
                      size_t count)
{
    int error = 0;
    for (size_t i = 0; i < count && error == 0; i++) {
        error = decode_alone(headers + i * GEOMETRY_FILE_HEADER, &decoded[i]);
        parts[i].h = &decoded[i];
    }
    return error;
}

/* Combines the checksums and counts of consecutive bodies. */
static void sum_records(struct header *h, const struct slice_part *parts, size_t count)
{
    struct checksum_sum sum = { 0 };
    struct kernel_tally tally = { 0 };
    for (size_t i = 0; i < count; i++) {
        checksum_append(&sum, parts[i].h->record.body_crc, parts[i].h->body_size);
        tally.ones += parts[i].h->record.ones;
    }
    image_record(&h->record, sum.crc, &tally);
}

static int make_joined_header(void *header, struct slice_part *parts, size_t count, unsigned flags)
{
    struct header h;
    uint8_t bytes[HEADER_MAX];
    int error = check_parts(parts, count, flags);
    if (error != 0)
        return error;
    describe_whole(&h, parts, count);
    image_describe(&h);
    sum_records(&h, parts, count);
    error = image_encode(&h, bytes);
    if (error == 0)
        memcpy(header, bytes, sizeof bytes);
    return error;
}

int bloomfile_join_headers(void *header, const void *headers, size_t count, unsigned flags)
{
    if (count == 0)
        return invalid(BLOOMFILE_EVALUE, "count");
    if ((flags & ~BLOOMFILE_JOIN_ACCEPT_INCOMPLETE) != 0)
        return invalid(BLOOMFILE_EFLAGS, "flags");
    struct slice_part *parts = calloc(count, sizeof *parts);
    struct header *decoded = calloc(count, sizeof *decoded);
    int error = parts == NULL || decoded == NULL ? ENOMEM : 0;
    if (error == 0)
        error = decode_all(parts, decoded, headers, count);
    if (error == 0)
        error = make_joined_header(header, parts, count, flags);
    free(decoded);
    free(parts);
    return error;
}
