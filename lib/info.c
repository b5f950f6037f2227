/* SPDX-License-Identifier: MIT
 * The header for people: of a handle, or of any bytes. */
#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <string.h>

#include "format/versioned.h"
#include "handle/live.h"

#define INFO_LEAST sizeof(struct bloomfile_info)

static void info_from_header(const struct header *h, uint64_t image_size, uint64_t pages,
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
        .framing = header_framing_kind(h),
        .framing_size = header_framing_size(h),
    };
    memcpy(info->tag, h->tag, sizeof info->tag);
    memcpy(info->boot_id, r->boot_id, sizeof info->boot_id);
    memcpy(info->label, h->label, sizeof info->label);
}

int bloomfile_get_info(const bloomfile *f, struct bloomfile_info *out)
{
    if (!versioned_known(out->struct_size, INFO_LEAST))
        return BLOOMFILE_EPARAMS;
    struct bloomfile_info info;
    struct header h = f->header, now;
    if (f->live != NULL && live_load(f, &now) == 0)
        h.record = now.record;
    if (f->writing) {
        struct kernel_change counted = session_counted(f->session);
        h.record = live_add_counts(&h, h.record, &counted);
    }
    info_from_header(&h, f->geometry.image_size, f->geometry.pages, &info);
    info.bad_pages = atomic_load(&f->guard->bad);
    versioned_give(out, out->struct_size, &info, sizeof info);
    return 0;
}

const void *bloomfile_body(const bloomfile *f, size_t *size)
{
    *size = (size_t)f->geometry.need;
    return f->view.body;
}

int bloomfile_inspect(const void *bytes, size_t size, struct bloomfile_info *out,
                      struct bloomfile_fault *list, size_t *count)
{
    if (out != NULL && !versioned_known(out->struct_size, INFO_LEAST))
        return BLOOMFILE_EPARAMS;
    uint8_t copy[HEADER_MAX];
    if (size > 0)
        memcpy(copy, bytes, size < sizeof copy ? size : sizeof copy);
    struct header h;
    struct header_faults faults = { .list = list, .room = list && count ? *count : 0 };
    header_decode(copy, size, &h, &faults);
    if (count != NULL)
        *count = faults.count;
    if (out == NULL)
        return faults.first;

    struct geometry g = { 0 };
    if (geometry_is_sound(h.layout, h.m, h.header_size))
        g = geometry_of(h.layout, h.m, h.header_size);
    struct bloomfile_info info;
    info_from_header(&h, g.image_size, g.pages, &info);
    versioned_give(out, out->struct_size, &info, sizeof info);
    return faults.first;
}
