/* SPDX-License-Identifier: MIT
 * Statistics of a filter's bits, for each layer of a series and in total. */
#include <bloomfile_unstable.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bfinspect/bus_errors.h"
#include "bfinspect/inspect.h"
#include "cli/cli.h"
#include "filters/series.h"
#include "filters/target_file.h"

/* ------------------------------------------------------------------------------- a single layer */

static void add_fault(struct inspect_report *r, struct inspect_layer *l,
                      struct bloomfile_fault fault)
{
    fault.offset += l->at;
    l->error = l->error != 0 ? l->error : fault.error;
    r->error = r->error != 0 ? r->error : fault.error;
    if (r->fault_count < INSPECT_FAULTS)
        r->faults[r->fault_count++] = fault;
}

static void verify(struct inspect_report *r, struct inspect_layer *l, const bloomfile_filter *f,
                   unsigned threads)
{
    struct bloomfile_fault fault;
    struct cli_progress progress = { .doing = "checking the body" };
    cli_progress_step(&progress);
    if (bloomfile_verify(f, threads, &fault) == 0)
        l->verified = true;
    else
        add_fault(r, l, fault);
    cli_progress_end(&progress);
}

bool inspect_is_clean(const struct bloomfile_info *info)
{
    static const uint8_t clean[sizeof(info->boot_id)] = { 0 };
    return memcmp(info->boot_id, clean, sizeof(clean)) == 0;
}

/* Whether the number of set bits in the body agrees with the record. It must be equal in a
 * sealed filter, and in a live filter that all writers closed properly. Otherwise the body has
 * at least as many (doc/format/live.md 2). A new sequence number shows that a writer came and
 * went during the read. */
static bool ones_are_right(const struct inspect_report *r, const struct inspect_layer *l,
                           const bloomfile_filter *f)
{
    struct bloomfile_info now = BLOOMFILE_INFO_INIT;
    const uint64_t found = l->measure.ones, told = l->info.ones;
    bloomfile_get_info(f, &now);
    if (l->info.state == BLOOMFILE_STATE_SEALED ||
        (now.sequence == l->info.sequence && now.keys_estimated == 0 && inspect_is_clean(&now)))
        return found == told;
    return found >= told || r->unclean || l->info.layout == BLOOMFILE_LAYOUT_COUNTING;
}

static bool has_bit_beyond_m(const struct inspect_layer *l, const bloomfile_filter *f)
{
    size_t used;
    const uint8_t *body = bloomfile_body(f, &used);
    const uint64_t bits = l->info.bits * bloomfile_traits_of(l->info.layout)->cell_bits;
    unsigned beyond = bits % 8 > 0 ? body[bits / 8] >> bits % 8 : 0;
    for (uint64_t i = (bits + 7) / 8; i < l->info.body_size; i++)
        beyond |= body[i];
    return beyond != 0;
}

/* Compares the body with the record. If they differ, a sealed filter is verified, because the fault
 * to report is the first that a reader of the whole body meets (format-spec.md, section 12.4). A
 * live body has no checksums. */
static void compare(struct inspect_report *r, struct inspect_layer *l, const bloomfile_filter *f,
                    unsigned threads)
{
    const bool beyond = has_bit_beyond_m(l, f);
    if (!beyond && ones_are_right(r, l, f))
        return;
    if (!l->verified && l->info.state == BLOOMFILE_STATE_SEALED)
        verify(r, l, f, threads);
    if (l->error == 0)
        add_fault(r, l,
                  (struct bloomfile_fault){ .error = BLOOMFILE_EBODY,
                                            .offset = l->info.body_offset,
                                            .page = UINT64_MAX,
                                            .field = beyond ? "padding" : "ones" });
}

static void measure(struct inspect_report *r, struct inspect_layer *l, const bloomfile_filter *f,
                    const struct inspect_options *options)
{
    struct cli_progress progress = { .doing = "counting bits" };
    cli_progress_step(&progress);
    l->measure.struct_size = sizeof(l->measure);
    int error = bloomfile_measure(f, &l->measure);
    l->measured = error == 0;
    inspect_solution(&l->solution, f);
    if (error == 0 && options->map)
        error = picture_for_terminal(&l->map, f, picture_terminal_width());
    if (error == 0 && options->svg != NULL && r->layer_count == 0)
        error = picture_for_image(&r->image, f);
    cli_progress_end(&progress);
    if (error != 0)
        r->error = error;
    if (l->error == 0 && l->measured)
        compare(r, l, f, options->threads);
}

static void read_one(struct inspect_report *r, struct inspect_layer *l, const bloomfile_filter *f,
                     const struct inspect_options *options)
{
    if (options->verify && l->info.state == BLOOMFILE_STATE_SEALED)
        verify(r, l, f, options->threads);
    if (!options->quick && !bus_error_failed())
        measure(r, l, f, options);
    bloomfile_get_info(f, &l->info); /* includes the number of bad pages */
}

/* ----------------------------------------------------------------------------------- all layers */

/* A key that was never added is "maybe" if it is "maybe" in any layer. */
static void sum_up(struct inspect_report *r)
{
    double sure = 1;
    uint64_t bits = 0;
    r->measured = r->verified = true;
    r->measure = BLOOMFILE_MEASUREMENT_INIT;
    for (size_t i = 0; i < r->layer_count; i++) {
        const struct inspect_layer *l = &r->layers[i];
        r->measured &= l->measured;
        r->verified &= l->verified;
        r->measure.ones += l->measure.ones;
        r->measure.keys_estimate += l->measure.keys_estimate;
        sure *= 1 - l->measure.fpr;
        bits += l->info.bits;
    }
    r->measure.fill = (double)r->measure.ones / (double)bits;
    r->measure.fpr = 1 - sure;
}

static void list_layers(struct inspect_report *r, const bloomfile_filter *f)
{
    r->layer_count = bloomfile_layers(f);
    r->layers = calloc(r->layer_count + 1, sizeof(*r->layers));
    if (r->layers == NULL)
        text_no_memory();
    for (size_t i = 0; i < r->layer_count; i++) {
        struct inspect_layer *l = &r->layers[i];
        l->info.struct_size = sizeof(l->info);
        bloomfile_get_info(bloomfile_layer(f, i), &l->info);
        if (l->info.series != 0) {
            l->name = series_path(r->path, series_slot(&l->info));
            writers_have_file(l->name, &l->in_use);
            r->in_use |= l->in_use;
        } else {
            l->at = r->layers[0].info.rest_size - l->info.rest_size;
        }
    }
}

void inspect_bodies(struct inspect_report *r, const bloomfile_filter *f,
                    const struct inspect_options *options)
{
    list_layers(r, f);
    for (size_t i = 0; i < r->layer_count && !bus_error_failed(); i++)
        read_one(r, &r->layers[i], bloomfile_layer(f, i), options);
    if (r->layer_count > 0) {
        sum_up(r);
        return;
    }
    struct inspect_layer *only = &r->layers[0];
    only->info = r->info;
    read_one(r, only, f, options);
    r->measured = only->measured;
    r->measure = only->measure;
    r->solution = only->solution;
    r->verified = only->verified;
    r->map = only->map;
}

/* ---- Statistics of the page heads of a ribbon body. */

/* Extends a range of `count` values to include the values from `least` to `most`. */
static void widen(struct inspect_range *range, uint64_t count, double least, double most)
{
    range->least = count == 0 ? least : fmin(range->least, least);
    range->most = count == 0 ? most : fmax(range->most, most);
}

void inspect_solution(struct inspect_solution *s, const bloomfile_filter *f)
{
    struct bloomfile_solution page;
    uint64_t solved = 0;
    double groups = 0, columns = 0, further = 0;
    *s = (struct inspect_solution){ 0 };
    for (; bloomfile_measure_page(f, s->pages, &page) == 0; s->pages++) {
        s->lines += page.lines;
        if (page.groups == 0) {
            s->unsolved++;
            continue;
        }
        s->reseeded += page.seed > 0;
        s->enlarged += page.groups_more > 0;
        further += page.groups_more;
        groups += page.groups;
        columns += page.columns * page.groups;
        widen(&s->groups, solved, page.groups, page.groups);
        widen(&s->columns, solved++, floor(page.columns), ceil(page.columns));
    }
    if (solved == 0)
        return;
    s->further = further / (double)solved;
    s->groups.mean = groups / (double)solved;
    s->columns.mean = columns / groups;
}
