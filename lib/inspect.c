/* SPDX-License-Identifier: MIT
 * Facts about a filter: its header fields, the statistics of its bits, and whether it is intact.
 */
#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <math.h>
#include <string.h>

#include "format/decode.h"
#include "format/ribbon.h"
#include "format/versioned_struct.h"
#include "handle/file_change.h"
#include "image/body.h"
#include "live/handle.h"
#include "live/records.h"
#include "os/thread.h"
#include "series/layers.h"
#include "sizing/sizing.h"

#define INFO_LEAST        VERSIONED_LEAST(struct bloomfile_info, digest_sum)
#define MEASUREMENT_LEAST VERSIONED_LEAST(struct bloomfile_measurement, keys_estimate)

/* ---- the header */

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
    memcpy(info->label, h->label, sizeof info->label);
}

static void get_info(const bloomfile *f, struct bloomfile_info *info)
{
    struct header h = f->header, now;
    if (f->writing)
        (void)live_load_counted(f, &h); /* as it was when opened, if it cannot be read */
    else if (f->live != NULL && live_load(f, &now) == 0)
        h.record = now.record;
    info_from_header(&h, f->geometry.image_size, f->geometry.pages, info);
    info->bad_pages = atomic_load(&f->guard->bad);
}

/* What a layer has more; what they all have is that of the first. */
static void add_info(struct bloomfile_info *sum, const struct bloomfile_info *layer)
{
    sum->bits += layer->bits;
    sum->bits_unfolded += layer->bits_unfolded;
    sum->body_size += layer->body_size;
    sum->image_size += layer->image_size;
    sum->pages += layer->pages;
    sum->capacity += layer->capacity;
    sum->keys += layer->keys;
    sum->ones += layer->ones;
    sum->bad_pages += layer->bad_pages;
    sum->keys_estimated |= layer->keys_estimated;
    sum->hashes = layer->hashes; /* of the newest, as are these */
    sum->sequence = layer->sequence;
    sum->writers = layer->writers;
    sum->layer = layer->layer;
    if (layer->state == BLOOMFILE_POISONED)
        sum->state = layer->state;
}

static void get_info_of_all(const bloomfile *f, struct bloomfile_info *sum)
{
    const struct layers *l = layers_enter(f);
    get_info(l->list[0], sum);
    for (size_t i = 1; i < l->count; i++) {
        struct bloomfile_info layer;
        get_info(l->list[i], &layer);
        add_info(sum, &layer);
    }
    sum->fpr = sum->series_fpr;
    sum->layers = (uint32_t)l->count;
    layers_leave(f, l);
}

int bloomfile_get_info(const bloomfile *f, struct bloomfile_info *out)
{
    if (!versioned_known(out->struct_size, INFO_LEAST))
        return BLOOMFILE_EPARAMS;
    struct bloomfile_info info;
    (f->series != NULL ? get_info_of_all : get_info)(f, &info);
    versioned_give(out, out->struct_size, &info, sizeof info);
    return 0;
}

size_t bloomfile_layers(const bloomfile *f)
{
    if (f->series == NULL)
        return 0;
    const struct layers *l = layers_enter(f);
    const size_t count = l->count;
    layers_leave(f, l);
    return count;
}

const bloomfile *bloomfile_layer(const bloomfile *f, size_t i)
{
    const struct layers *l = f->series != NULL ? layers_now(f) : NULL;
    return l != NULL && i < l->count ? l->list[i] : NULL;
}

const void *bloomfile_body(const bloomfile *f, size_t *size)
{
    *size = f->series != NULL ? 0 : (size_t)f->geometry.need;
    return f->view.body;
}

int bloomfile_inspect(const void *bytes, uint64_t size, struct bloomfile_info *out,
                      struct bloomfile_fault *list, size_t *count)
{
    if (out != NULL && !versioned_known(out->struct_size, INFO_LEAST))
        return BLOOMFILE_EPARAMS;
    uint8_t copy[HEADER_MAX];
    if (size > 0)
        memcpy(copy, bytes, size < sizeof copy ? (size_t)size : sizeof copy);
    struct header h;
    struct header_faults faults = { .list = list, .room = list && count ? *count : 0 };
    decode_header(copy, size, &h, &faults);
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

/* ---- the fields of a header */

#define ROW(offset, size, name, type, kind) { #name, -1, offset, size, BLOOMFILE_FIELD_##kind },

static const struct bloomfile_field static_fields[] = { HEADER_FIELDS(ROW) };
static const struct bloomfile_field layer_fields[] = { SERIES_FIELDS(ROW) };
static const struct bloomfile_field slice_fields[] = { SLICE_FIELDS(ROW) };
static const struct bloomfile_field record_fields[] = { RECORD_FIELDS(ROW) };

#define COUNT(rows) (sizeof(rows) / sizeof(rows)[0])

struct field_list {
    struct bloomfile_field *fields;
    size_t room, count; /* those without room are counted too */
};

static void list(struct field_list *l, struct bloomfile_field field, int record, uint32_t start)
{
    field.record = record;
    field.offset += start;
    if (l->count < l->room)
        l->fields[l->count] = field;
    l->count++;
}

static void list_checksum(struct field_list *l, const char *name, int record, uint32_t end)
{
    list(l, (struct bloomfile_field){ name, -1, end - 4, 4, BLOOMFILE_FIELD_HEX }, record, 0);
}

size_t bloomfile_fields(uint32_t header_size, uint32_t incompat, struct bloomfile_field *fields,
                        size_t room)
{
    const struct header h = { .header_size = header_size };
    struct field_list l = { fields, room, 0 };
    for (size_t i = 0; i < COUNT(static_fields); i++)
        list(&l, static_fields[i], -1, 0);
    const bool room_for_more = header_size == GEOMETRY_FILE_HEADER;
    const bool slice = room_for_more && (incompat & HEADER_INCOMPAT_SLICE) != 0;
    const bool layer = room_for_more && !slice && (incompat & HEADER_INCOMPAT_LAYER) != 0;
    for (size_t i = 0; layer && i < COUNT(layer_fields); i++)
        list(&l, layer_fields[i], -1, 0);
    for (size_t i = 0; slice && i < COUNT(slice_fields); i++)
        list(&l, slice_fields[i], -1, 0);
    if (!geometry_header_known(header_size))
        return l.count;
    list_checksum(&l, "header_crc", -1, header_record_offset(&h, 0));
    for (unsigned slot = 0; slot < 2; slot++) {
        const uint32_t start = header_record_offset(&h, slot);
        for (size_t i = 0; i < COUNT(record_fields); i++)
            list(&l, record_fields[i], (int)slot, start);
        list_checksum(&l, "record_crc", (int)slot, start + header_record_size(&h));
    }
    return l.count;
}

/* ---- the bits */

static void measure(const bloomfile *f, struct bloomfile_measurement *m)
{
    const struct header *h = &f->header;
    const struct sizing *sizing = sizing_of(h->layout);
    struct kernel_tally tally = { 0 };
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
}

static void measure_all(const bloomfile *f, struct bloomfile_measurement *m)
{
    const struct layers *l = layers_enter(f);
    double sure = 1; /* that no layer says "maybe" to an absent key */
    uint64_t bits = 0;
    *m = (struct bloomfile_measurement){ 0 };
    for (size_t i = 0; i < l->count; i++) {
        struct bloomfile_measurement one;
        measure(l->list[i], &one);
        m->ones += one.ones;
        m->keys_estimate += one.keys_estimate;
        sure *= 1 - one.fpr;
        bits += l->list[i]->header.m;
    }
    m->fill = (double)m->ones / (double)bits;
    m->fpr = 1 - sure;
    layers_leave(f, l);
}

int bloomfile_measure(const bloomfile *f, struct bloomfile_measurement *out)
{
    if (!versioned_known(out->struct_size, MEASUREMENT_LEAST))
        return BLOOMFILE_EPARAMS;
    struct bloomfile_measurement m;
    (f->series != NULL ? measure_all : measure)(f, &m);
    versioned_give(out, out->struct_size, &m, sizeof m);
    return 0;
}

/* total * i / cells; the product of rest and i fits, since an array has room for all cells. */
static uint64_t share(uint64_t total, uint64_t i, uint64_t cells)
{
    return total / cells * i + total % cells * i / cells;
}

int bloomfile_measure_map(const bloomfile *f, double *fill, size_t cells)
{
    if (f->series != NULL)
        return BLOOMFILE_ENOTONE;
    if (cells == 0)
        return BLOOMFILE_EPARAMS;
    const size_t grain = (size_t)geometry_bytes_of(f->header.layout, 1);
    const uint64_t grains = f->geometry.need / grain;
    const uint64_t places = 8 / layout_of(f->header.layout)->cell_bits;
    map_expect(&f->map, MAP_SCAN);
    for (size_t i = 0; i < cells; i++) {
        uint64_t from = share(grains, i, cells), to = share(grains, i + 1, cells);
        to = to > from ? to : from + 1;
        struct kernel_tally tally = { 0 };
        f->kernel->tally(f->view.body + from * grain, (size_t)((to - from) * grain), &tally);
        uint64_t last = to < grains ? to * grain * places : f->header.m;
        fill[i] = (double)tally.ones / (double)(last - from * grain * places);
    }
    map_expect(&f->map, MAP_LOOKUPS);
    return 0;
}

/* The head of that page, which begins the bytes, and what it makes of the rate. */
static struct bloomfile_solution read_solution(const bloomfile *f, const uint8_t *page, size_t size)
{
    struct kernel_tally tally = { 0 };
    const unsigned lines = (unsigned)(size / PROBE_BLOCK_BYTES), words = ribbon_words(lines);
    const uint64_t head = get64(page), keys = head >> 32;
    const uint32_t shape = ribbon_shape_of(head, lines);
    f->kernel->tally(page, size, &tally);
    struct bloomfile_solution solution = {
        .keys = keys,
        .fpr = sizing_of(f->header.layout)->measured(f->header.m, 0, tally.ones, tally.blocks),
        .lines = lines,
    };
    if (shape == RIBBON_MAYBE)
        return solution;
    const unsigned first = ribbon_first_blocks(keys, words);
    solution.blocks = ribbon_blocks(shape);
    solution.blocks_more = solution.blocks > first ? solution.blocks - first : 0;
    solution.seed = ribbon_seed(shape);
    solution.columns = fmin((double)words / solution.blocks, RIBBON_COLUMNS_MOST);
    return solution;
}

int bloomfile_measure_page(const bloomfile *f, uint64_t page, struct bloomfile_solution *out)
{
    if (f->series != NULL || !layout_of(f->header.layout)->solved || page >= f->geometry.pages)
        return BLOOMFILE_EPARAMS;
    const uint64_t start = page * CHECKSUM_PAGE, rest = f->geometry.need - start;
    *out =
        read_solution(f, f->view.body + start, rest < CHECKSUM_PAGE ? (size_t)rest : CHECKSUM_PAGE);
    return 0;
}

/* ---- against the checksums */

/* Describes an error that no byte of the body is to blame for. */
static int blame(struct bloomfile_fault *fault, int error, const char *field, uint64_t offset)
{
    if (fault != NULL)
        *fault = (struct bloomfile_fault){
            .error = error, .offset = offset, .page = UINT64_MAX, .field = field
        };
    return error;
}

/* Whether the file was changed; *error and *fault say so then. */
static bool is_changed(const bloomfile *f, int *error, struct bloomfile_fault *fault)
{
    const bool by_header = changed_header(f);
    if (!by_header && !changed_in_place(f))
        return false;
    guard_distrust(f->guard, BLOOMFILE_ECHANGED);
    *error = blame(fault, BLOOMFILE_ECHANGED, by_header ? "header" : "file", 0);
    return true;
}

/* After the body was read: a page that was right before is wrong now, or was found so earlier. */
static int blame_page(int error, struct bloomfile_fault *fault)
{
    if (error != BLOOMFILE_EPAGE)
        return blame(fault, BLOOMFILE_ECHANGED, "file", 0);
    if (fault != NULL)
        fault->error = BLOOMFILE_ECHANGED;
    return BLOOMFILE_ECHANGED;
}

static int verify(const bloomfile *f, unsigned threads, struct bloomfile_fault *fault)
{
    if (f->live != NULL)
        return blame(fault, BLOOMFILE_ELIVE, "state",
                     header_record_offset(&f->header, f->header.in_force));
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

/* Damage in one layer does not keep the others from being checked, which later lookups rely on. */
static int verify_all(const bloomfile *f, unsigned threads, struct bloomfile_fault *fault)
{
    const struct layers *l = layers_enter(f);
    uint64_t start = 0;
    int first = 0;
    for (size_t i = 0; i < l->count; i++) {
        const bloomfile *layer = l->list[i];
        struct bloomfile_fault found;
        const int error = verify(layer, threads, &found);
        if (error != 0 && first == 0) {
            first = error;
            found.offset += start;
            if (fault != NULL)
                *fault = found;
        }
        start += header_layer_stride(&layer->header);
    }
    layers_leave(f, l);
    return first;
}

int bloomfile_verify(const bloomfile *f, unsigned threads, struct bloomfile_fault *fault)
{
    if (threads > TEAM_MOST)
        return blame(fault, BLOOMFILE_EPARAMS, "threads", 0);
    return (f->series != NULL ? verify_all : verify)(f, threads, fault);
}
