/* SPDX-License-Identifier: MIT
 * Inspecting a single image: header, counts and rates of its bits, and verification. */
#include "handle/inspection.h"

#include <string.h>

#include "image/body.h"
#include "live/file_change.h"
#include "live/records.h"
#include "sizing/sizing.h"

/* ---- the header */

void inspection_info_of(const struct header *h, uint64_t image_size, uint64_t pages,
                        struct bloomfile_info *info)
{
    const struct record *r = &h->record;
    *info = (struct bloomfile_info){
        .version = h->version,
        .header_size = h->header_size,
        .compat = h->compat,
        .ro_compat = h->ro_compat,
        .incompat = h->incompat,
        .provenance = h->provenance,
        .layout = h->layout,
        .hash_id = h->hash_id,
        .hashes = h->k,
        .state = r->state,
        .bits = h->m,
        .bits_unfolded = h->m_unfolded,
        .seed = h->seed,
        .self_test = h->self_test,
        .body_offset = h->body_offset,
        .body_size = h->body_size,
        .image_size = image_size,
        .pages = pages,
        .capacity = h->capacity,
        .fpr = h->fpr,
        .sequence = r->sequence,
        .keys = r->n,
        .ones = r->ones,
        .overflow = r->overflow,
        .keys_estimated = (r->flags & RECORD_N_ESTIMATED) != 0,
        .body_crc = r->body_crc,
        .writers = r->writers,
        .key_kind = h->key_kind & 0xFF,
        .key_size = h->key_kind >> 8,
        .layers = h->layers,
        .generations = h->generations,
        .layer = h->layer,
        .rest_size = h->rest_size,
        .series = h->series,
        .series_fpr = h->series_fpr,
        .period = h->period,
        .began = h->began,
        .first_block = h->first_block,
        .whole_blocks = h->whole_blocks,
        .keys_read = h->keys_read,
        .keys_elsewhere = h->keys_elsewhere,
        .digest_sum = h->digest_sum,
    };
    memcpy(info->tag, h->tag, sizeof info->tag);
    memcpy(info->boot_id, r->boot_id, sizeof info->boot_id);
    memcpy(info->identity, r->identity, sizeof info->identity);
    memcpy(info->watermark, r->watermark, sizeof info->watermark);
    memcpy(info->label, h->label, sizeof info->label);
}

/* Adds the memory, mappings and descriptors of the handle. */
static void add_cost(const bloomfile_filter *f, struct bloomfile_info *info)
{
    const struct map_cost map = map_cost(&f->map);
    info->heap_size = sizeof *f + guard_heap(f->guard);
    if (f->view.shapes != NULL)
        info->heap_size += f->geometry.pages * sizeof *f->view.shapes;
    if (f->path != NULL)
        info->heap_size += strlen(f->path) + 1;
    info->mapped_size = map.mapped;
    info->mappings = map.mappings;
    info->descriptors = (uint32_t)((f->folder >= 0) + (f->reader >= 0));
    if (f->live == NULL)
        return;
    info->heap_size += sizeof *f->live;
    info->mapped_size += session_mapped();
    info->mappings++;
    info->descriptors += f->live->fd >= 0;
    info->mappings += f->live->session->sole != NULL;
}

void inspection_info(const bloomfile_filter *f, struct bloomfile_info *info)
{
    struct header h;
    (void)live_header_now(f, &h); /* on error, the header at opening */
    inspection_info_of(&h, f->geometry.image_size, f->geometry.pages, info);
    info->bad_pages = atomic_load(&f->guard->bad);
    add_cost(f, info);
}

#ifndef BLOOMFILE_NO_BUILD

/* ---- the bits */

int inspection_measure(const bloomfile_filter *f, struct bloomfile_measurement *m)
{
    const struct header *h = &f->header;
    const struct sizing *sizing = sizing_of(h->layout);
    struct kernel_tally tally = { 0 };
    const int error = changed_before_reading(f);
    if (error != 0)
        return error;
    map_expect(&f->map, MAP_SCAN);
    f->kernel->tally(f->view.body, (size_t)f->geometry.need, &tally);
    map_expect(&f->map, MAP_LOOKUPS);
    *m = (struct bloomfile_measurement){
        .ones = tally.ones,
        .fill = (double)tally.ones / (double)h->m,
        .fpr = sizing->measured(h->m, h->k, tally.ones, tally.blocks),
        .keys_estimate = layout_of(h->layout)->solved
                             ? (double)tally.keys
                             : sizing->estimated_keys(h->m, h->k, tally.ones),
    };
    return 0;
}

#endif

/* ---- against the checksums */

/* Describes an error outside the body. */
int inspection_blame(struct bloomfile_fault *fault, int error, const char *field, uint64_t offset)
{
    if (fault != NULL)
        *fault = (struct bloomfile_fault){
            .error = error, .offset = offset, .page = UINT64_MAX, .field = field
        };
    return error;
}

/* Returns whether the file was changed since it was opened, and sets *error and *fault if so. */
static bool is_changed(const bloomfile_filter *f, int *error, struct bloomfile_fault *fault)
{
    const bool by_header = changed_header(f);
    if (!changed_now(f))
        return false;
    *error = inspection_blame(fault, BLOOMFILE_ECHANGED, by_header ? "header" : "file", 0);
    return true;
}

/* Reports a page that was good before and is bad now. If an earlier call found the page bad,
 * reports the file as changed instead. */
static int blame_page(int error, struct bloomfile_fault *fault)
{
    if (error != BLOOMFILE_EPAGE)
        return inspection_blame(fault, BLOOMFILE_ECHANGED, "file", 0);
    if (fault != NULL)
        fault->error = BLOOMFILE_ECHANGED;
    return BLOOMFILE_ECHANGED;
}

int inspection_verify_live(const bloomfile_filter *f, unsigned threads,
                           struct bloomfile_fault *fault)
{
    (void)threads;
    return inspection_blame(fault, BLOOMFILE_ELIVE, "state",
                            header_record_offset(&f->header, f->header.in_force));
}

int inspection_verify_sealed(const bloomfile_filter *f, unsigned threads,
                             struct bloomfile_fault *fault)
{
    int error = 0;
    if (is_changed(f, &error, fault))
        return error;
    map_expect(&f->map, MAP_SCAN);
    error = body_verify(&f->header, f->view.body, f->guard, threads, fault);
    map_expect(&f->map, MAP_LOOKUPS);
    if (!is_changed(f, &error, fault) && changed_or_damaged_so_far(f) == BLOOMFILE_ECHANGED)
        error = blame_page(error, fault);
    return error;
}
