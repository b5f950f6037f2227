/* SPDX-License-Identifier: MIT
 * The size of a planned filter, and facts about a filter: the fields of its header, the statistics
 * of its bits, and whether it is intact.
 */
#include <bloomfile_inspect.h>
#include <bloomfile_unstable.h>
#include <math.h>
#include <string.h>

#include "format/decode.h"
#include "format/invalid.h"
#include "format/ribbon.h"
#include "format/versioned_struct.h"
#include "handle/inspection.h"
#include "live/file_change.h"
#include "os/thread.h"
#include "series/layers.h"
#include "sizing/sizing.h"

#define INFO_LEAST        VERSIONED_LEAST(struct bloomfile_info, descriptors)
#define MEASUREMENT_LEAST VERSIONED_LEAST(struct bloomfile_measurement, keys_estimate)

#ifndef BLOOMFILE_NO_BUILD

/* ---- sizes */

#define SIZE_LEAST VERSIONED_LEAST(struct bloomfile_size, image_size)

static int check_wanted(const struct bloomfile_size *s)
{
    if (!layout_known(s->layout))
        return invalid(BLOOMFILE_EVALUE, "layout");
    if (s->hashes > (layout_of(s->layout)->solved ? 0 : BLOOMFILE_MAX_HASHES))
        return invalid(BLOOMFILE_EVALUE, "hashes");
    if (s->bits != 0 && !geometry_bits_valid(s->layout, s->bits))
        return invalid(BLOOMFILE_EVALUE, "bits");
    if (s->bits == 0 && (s->keys == 0 || s->keys > GEOMETRY_MAX_CAPACITY))
        return invalid(BLOOMFILE_EVALUE, "keys");
    const bool is_result =
        s->keys != 0 &&
        s->bits != 0; /* the result of an earlier call: its fpr may have been rounded to 1 */
    if (!(s->fpr == 0 || (s->fpr > 0 && (s->fpr < 1 || (is_result && s->fpr == 1)))))
        return invalid(BLOOMFILE_EVALUE, "fpr");
    if (s->want_spread > 1)
        return invalid(BLOOMFILE_EVALUE, "want_spread");
    return s->reserved != 0 ? invalid(BLOOMFILE_EVALUE, "reserved") : 0;
}

static double spread_of(uint32_t layout, uint64_t units, uint32_t k, uint64_t n)
{
    const struct sizing *sizing = sizing_of(layout);
    return sizing->variance != NULL ? sqrt(sizing->variance(units, k, n)) : NAN;
}

int bloomfile_size_for(struct bloomfile_size *size)
{
    struct bloomfile_size s;
    if (!versioned_take(&s, sizeof s, size, size->struct_size, SIZE_LEAST))
        return invalid(BLOOMFILE_ESTRUCTSIZE, "struct_size");
    if (s.layout == 0)
        s.layout = LAYOUT_DEFAULT;
    const int error = check_wanted(&s);
    if (error != 0)
        return error;
    const double fpr = s.fpr != 0 ? s.fpr : SIZING_DEFAULT_FPR;
    uint64_t in_file = s.bits;
    if (s.bits == 0) {
        s.bits = sizing_bits(s.layout, s.keys, fpr, &s.hashes);
        in_file = sizing_file_bits(s.layout, s.bits);
    }
    if (s.bits == 0)
        return BLOOMFILE_EUNREACHABLE;
    if (s.keys == 0)
        s.keys = sizing_capacity(s.layout, s.bits, s.hashes, fpr);
    if (s.hashes == 0)
        s.hashes = sizing_hashes(s.layout, s.bits, s.keys);
    const uint64_t units = geometry_units_of(s.layout, s.bits);
    s.fpr = sizing_rate(s.layout, units, s.hashes, s.keys);
    s.spread = s.want_spread != 0 ? spread_of(s.layout, units, s.hashes, s.keys) : 0;
    s.file_size = geometry_of(s.layout, in_file, GEOMETRY_FILE_HEADER).image_size;
    s.image_size = geometry_of(s.layout, s.bits, GEOMETRY_EMBEDDED_HEADER).image_size;
    versioned_give(size, size->struct_size, &s, sizeof s);
    return 0;
}

#endif

/* ---- the header */

int bloomfile_get_info(const bloomfile_filter *f, struct bloomfile_info *out)
{
    if (!versioned_known(out->struct_size, INFO_LEAST))
        return invalid(BLOOMFILE_ESTRUCTSIZE, "struct_size");
    struct bloomfile_info info;
    f->operations->info(f, &info);
    versioned_give(out, out->struct_size, &info, sizeof info);
    return 0;
}

size_t bloomfile_layers(const bloomfile_filter *f)
{
    if (f->series == NULL)
        return 0;
    const struct layers *l = layers_enter(f);
    const size_t count = l->count;
    layers_leave(f, l);
    return count;
}

const bloomfile_filter *bloomfile_layer(const bloomfile_filter *f, size_t i)
{
    const struct layers *l = f->series != NULL ? layers_now(f) : NULL;
    return l != NULL && i < l->count ? l->list[i] : NULL;
}

const void *bloomfile_body(const bloomfile_filter *f, size_t *size)
{
    *size = (size_t)f->geometry.need; /* 0 for a series */
    return f->view.body;
}

ONCE_A_FILE int bloomfile_inspect(const void *bytes, uint64_t size, struct bloomfile_info *out,
                                  struct bloomfile_fault *list, size_t *count)
{
    if (out != NULL && !versioned_known(out->struct_size, INFO_LEAST))
        return invalid(BLOOMFILE_ESTRUCTSIZE, "struct_size");
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
    inspection_info_of(&h, g.image_size, g.pages, &info);
    versioned_give(out, out->struct_size, &info, sizeof info);
    return faults.first;
}

#ifndef BLOOMFILE_NO_BUILD

/* ---- the fields of a header */

#define ROW(offset, size, name, type, kind) { #name, -1, offset, size, BLOOMFILE_FIELD_##kind },

static const struct bloomfile_field static_fields[] = { HEADER_FIELDS(ROW) };
static const struct bloomfile_field layer_fields[] = { SERIES_FIELDS(ROW) };
static const struct bloomfile_field slice_fields[] = { SLICE_FIELDS(ROW) };
static const struct bloomfile_field record_fields[] = { RECORD_FIELDS(ROW) };
static const struct bloomfile_field record_file_fields[] = { RECORD_FILE_FIELDS(ROW) };

#define COUNT(rows) (sizeof(rows) / sizeof(rows)[0])

struct field_list {
    struct bloomfile_field *fields;
    size_t room, count; /* `count` includes the fields that do not fit */
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
        for (size_t i = 0; room_for_more && i < COUNT(record_file_fields); i++)
            list(&l, record_file_fields[i], (int)slot, start);
        list_checksum(&l, "record_crc", (int)slot, start + header_record_size(&h));
    }
    return l.count;
}

/* ---- the bits */

int bloomfile_measure(const bloomfile_filter *f, struct bloomfile_measurement *out)
{
    if (!versioned_known(out->struct_size, MEASUREMENT_LEAST))
        return invalid(BLOOMFILE_ESTRUCTSIZE, "struct_size");
    struct bloomfile_measurement m;
    const int error = f->operations->measure(f, &m);
    if (error == 0)
        versioned_give(out, out->struct_size, &m, sizeof m);
    return error;
}

/* total * i / cells. The products fit, because `cells` doubles fit in memory. */
static uint64_t share(uint64_t total, uint64_t i, uint64_t cells)
{
    return total / cells * i + total % cells * i / cells;
}

int bloomfile_measure_map(const bloomfile_filter *f, double *fill, size_t cells)
{
    if (f->series != NULL)
        return BLOOMFILE_EISSERIES;
    const int error = cells == 0 ? invalid(BLOOMFILE_EVALUE, "cells") : changed_before_reading(f);
    if (error != 0)
        return error;
    const size_t grain = (size_t)geometry_bytes_of(f->header.layout, 1);
    const uint64_t grains = f->geometry.need / grain;
    const uint64_t places = 8 / layout_of(f->header.layout)->cell_bits;
    map_expect(&f->map, MAP_SCAN);
    for (size_t i = 0; i < cells; i++) {
        uint64_t from = share(grains, i, cells), to = share(grains, i + 1, cells);
        to = to > from ? to : from + 1;
        struct kernel_tally tally = { 0 };
        f->kernel->count(f->view.body + from * grain, (size_t)((to - from) * grain), &tally);
        uint64_t last = to < grains ? to * grain * places : f->header.m;
        fill[i] = (double)tally.ones / (double)(last - from * grain * places);
    }
    map_expect(&f->map, MAP_LOOKUPS);
    return 0;
}

/* Reads the head of a page of `size` bytes, and computes the page's rate from it. */
static struct bloomfile_solution read_solution(const bloomfile_filter *f, const uint8_t *page,
                                               size_t size)
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
    const unsigned first = ribbon_first_groups(keys, words);
    solution.groups = ribbon_groups(shape);
    solution.groups_more = solution.groups > first ? solution.groups - first : 0;
    solution.seed = ribbon_seed(shape);
    solution.columns = fmin((double)words / solution.groups, RIBBON_COLUMNS_MOST);
    return solution;
}

int bloomfile_measure_page(const bloomfile_filter *f, uint64_t page, struct bloomfile_solution *out)
{
    if (!layout_of(f->header.layout)->solved || page >= f->geometry.pages)
        return invalid(BLOOMFILE_EVALUE, "page");
    const uint64_t start = page * CHECKSUM_PAGE, rest = f->geometry.need - start;
    *out =
        read_solution(f, f->view.body + start, rest < CHECKSUM_PAGE ? (size_t)rest : CHECKSUM_PAGE);
    return 0;
}

#endif

/* ---- verification */

int bloomfile_verify(const bloomfile_filter *f, unsigned threads, struct bloomfile_fault *fault)
{
    if (threads > TEAM_MOST)
        return inspection_blame(fault, invalid(BLOOMFILE_EVALUE, "threads"), "threads", 0);
    return f->operations->verify(f, threads, fault);
}
