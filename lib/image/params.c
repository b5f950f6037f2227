/* SPDX-License-Identifier: MIT
 * The caller's parameters: checks of ranges and combinations, and computation of m and k. */
#include "image/params.h"
#include "format/invalid.h"

#include <bloomfile_inspect.h>
#include <string.h>

#include "format/decode.h"
#include "format/hash.h"
#include "format/probe.h"
#include "format/versioned_struct.h"
#include "kernel/dispatch.h"
#include "os/thread.h"
#include "sizing/sizing.h"

#define PARAMS_LEAST   VERSIONED_LEAST(struct bloomfile_params, memory)
#define METADATA_LEAST VERSIONED_LEAST(struct bloomfile_metadata, watermark)

static int check_label(const char *label)
{
    const bool valid = label == NULL || header_label_valid(label, strlen(label));
    return valid ? 0 : invalid(BLOOMFILE_EVALUE, "label");
}

int metadata_take(struct bloomfile_metadata *m, const struct bloomfile_metadata *given)
{
    *m = BLOOMFILE_METADATA_INIT;
    if (given != NULL && !versioned_take(m, sizeof *m, given, given->struct_size, METADATA_LEAST))
        return invalid(BLOOMFILE_ESTRUCTSIZE, "metadata");
    return check_label(m->label);
}

void metadata_put(struct header *h, const struct bloomfile_metadata *m)
{
    if (m->label != NULL) {
        memset(h->label, 0, sizeof h->label);
        memcpy(h->label, m->label, strlen(m->label));
    }
    if (m->tag != NULL)
        memcpy(h->tag, m->tag, sizeof h->tag);
    if (m->watermark != NULL)
        memcpy(h->record.watermark, m->watermark, sizeof h->record.watermark);
}

/* A slice needs a capacity: the whole filter is planned before it has keys, and a slice cannot
 * count the keys of other slices. */
static int check_slices_wanted(const struct bloomfile_params *p)
{
    if (p->slices > PARTIAL_MOST_SLICES || !layout_has_slices(p->layout))
        return invalid(BLOOMFILE_EVALUE, "slices");
    if (p->slice >= p->slices)
        return invalid(BLOOMFILE_EVALUE, "slice");
    return p->capacity == 0 ? invalid(BLOOMFILE_EVALUE, "capacity") : 0;
}

static int check_params(const struct bloomfile_params *p)
{
    if (p->threads > TEAM_MOST)
        return invalid(BLOOMFILE_EVALUE, "threads");
    if (p->over_capacity > 1)
        return invalid(BLOOMFILE_EVALUE, "over_capacity");
    if (p->key_kind > BLOOMFILE_KEYS_BYTES)
        return invalid(BLOOMFILE_EVALUE, "key_kind");
    if (p->key_size > BLOOMFILE_MAX_KEY_SIZE || !header_keys_known(p->key_kind | p->key_size << 8))
        return invalid(BLOOMFILE_EVALUE, "key_size");
    if (p->hash_id == 0 && p->self_test != 0)
        return invalid(BLOOMFILE_EVALUE, "self_test");
    if (p->hash_id != 0 && !hash_is_applications(p->hash_id))
        return invalid(BLOOMFILE_EVALUE, "hash_id");
    if (!layout_known(p->layout))
        return invalid(BLOOMFILE_EVALUE, "layout");
    if (p->bits != 0 && !geometry_bits_valid(p->layout, p->bits))
        return invalid(BLOOMFILE_EVALUE, "bits");
    if (p->hashes > (layout_of(p->layout)->solved ? 0 : BLOOMFILE_MAX_HASHES))
        return invalid(BLOOMFILE_EVALUE, "hashes");
    if (!(p->fpr == 0 || (p->fpr > 0 && p->fpr < 1)))
        return invalid(BLOOMFILE_EVALUE, "fpr");
    if (p->capacity > GEOMETRY_MAX_CAPACITY)
        return invalid(BLOOMFILE_EVALUE, "capacity");
    const int error = check_label(p->label);
    return error == 0 && (p->slice != 0 || p->slices != 0) ? check_slices_wanted(p) : error;
}

int params_take(struct bloomfile_params *p, const struct bloomfile_params *given)
{
    *p = BLOOMFILE_PARAMS_INIT;
    if (given != NULL && !versioned_take(p, sizeof *p, given, given->struct_size, PARAMS_LEAST))
        return invalid(BLOOMFILE_ESTRUCTSIZE, "struct_size");
    p->struct_size = sizeof *p; /* a newer caller's size may be larger */
    if (p->layout == 0)
        p->layout = LAYOUT_DEFAULT;
    const int error = check_params(p);
    return error == 0 && kernel_for(p->layout) == NULL ? BLOOMFILE_EFEATURE : error;
}

int params_refuse_of_builder(const struct bloomfile_params *p)
{
    const char *name = p->memory != 0          ? "memory"
                       : p->spool != NULL      ? "spool"
                       : p->threads != 0       ? "threads"
                       : p->over_capacity != 0 ? "over_capacity"
                       : p->slices != 0        ? "slices"
                                               : NULL;
    return name != NULL ? invalid(BLOOMFILE_EVALUE, name) : 0;
}

int params_refuse_of_live(const struct bloomfile_params *p)
{
    if (p->series == 0 && p->period == 0)
        return 0;
    return invalid(BLOOMFILE_EVALUE, p->series != 0 ? "series" : "period");
}

void params_fill(struct bloomfile_params *p)
{
    const double fpr = p->fpr != 0 ? p->fpr : SIZING_DEFAULT_FPR;
    p->capacity = sizing_capacity(p->layout, p->bits, p->hashes, fpr);
}

bool params_need_keys(const struct bloomfile_params *p)
{
    const bool hashes_depend = p->hashes == 0 && !layout_of(p->layout)->solved;
    return p->capacity == 0 && (p->bits == 0 || hashes_depend);
}

void params_set_keys(const struct bloomfile_params *p, uint64_t n, struct header *h)
{
    h->capacity = p->capacity != 0 ? p->capacity : n != 0 ? n : 1;
    h->record.n = n;
}

/* Turns the header of a whole filter into that of a slice. */
static int cut_slice(const struct bloomfile_params *p, struct header *h)
{
    const uint64_t blocks = h->m / PROBE_BLOCK_BITS;
    const uint64_t end = partial_first_block(blocks, p->slice + 1, p->slices);
    h->whole_blocks = blocks;
    h->first_block = partial_first_block(blocks, p->slice, p->slices);
    h->m = (end - h->first_block) * PROBE_BLOCK_BITS;
    const bool each_has_pages = partial_first_block(blocks, 1, p->slices) != 0;
    return each_has_pages ? 0 : invalid(BLOOMFILE_EVALUE, "slices");
}

int params_plan(const struct bloomfile_params *p, uint64_t n, uint32_t header_size,
                struct header *h)
{
    *h = (struct header){ .header_size = header_size,
                          .layout = p->layout,
                          .hash_id = p->hash_id,
                          .self_test = p->self_test,
                          .k = p->hashes,
                          .key_kind = p->key_kind | p->key_size << 8,
                          .m = p->bits,
                          .seed = p->seed,
                          .fpr = p->fpr == 0 ? 0 : p->fpr }; /* not -0.0 */
    if (p->hash_id == 0) {
        h->hash_id = HASH_XXH3_64;
        h->self_test = hash_self_test(p->seed);
    }
    params_set_keys(p, n, h);
    metadata_put(h, &(struct bloomfile_metadata){
                        .label = p->label, .tag = p->tag, .watermark = p->watermark });
    if (h->m == 0) {
        if (h->fpr == 0)
            h->fpr = SIZING_DEFAULT_FPR;
        h->m = sizing_bits(h->layout, h->capacity, h->fpr, &h->k);
        if (h->m == 0)
            return BLOOMFILE_EUNREACHABLE;
        if (header_size == GEOMETRY_FILE_HEADER)
            h->m = sizing_file_bits(h->layout, h->m);
    }
    if (h->k == 0)
        h->k = sizing_hashes(h->layout, h->m, h->capacity);
    const int error = p->slices != 0 ? cut_slice(p, h) : 0;
    h->m_unfolded = h->m;
    return error;
}
