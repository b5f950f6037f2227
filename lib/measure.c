/* SPDX-License-Identifier: MIT
 * What the bits of a body say: fill, rate, estimated keys. */
#include <bloomfile_inspect.h>

#include "format/probe.h"
#include "format/versioned.h"
#include "handle/handle.h"
#include "kernel/dispatch.h"
#include "sizing/sizing.h"

#define MEASUREMENT_LEAST sizeof(struct bloomfile_measurement)

int bloomfile_measure(const bloomfile *f, struct bloomfile_measurement *out)
{
    if (!versioned_known(out->struct_size, MEASUREMENT_LEAST))
        return BLOOMFILE_EPARAMS;
    const struct header *h = &f->header;
    struct kernel_tally tally = { 0 };
    map_expect(&f->map, MAP_SCAN);
    kernel_for(h->layout)->tally(f->view.body, (size_t)f->geometry.need, &tally);
    map_expect(&f->map, MAP_LOOKUPS);
    struct bloomfile_measurement m = {
        .struct_size = out->struct_size,
        .ones = tally.ones,
        .fill = (double)tally.ones / (double)h->m,
        .fpr = sizing_measured_fpr(h->layout, h->m, h->k, tally.ones, tally.blocks),
        .keys_estimate = sizing_estimated_keys(h->layout, h->m, h->k, tally.ones),
    };
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
    if (cells == 0)
        return BLOOMFILE_EPARAMS;
    const bool counting = f->header.layout == BLOOMFILE_COUNTING;
    const bool blocked = f->header.layout == BLOOMFILE_BLOCKED;
    const size_t grain = blocked ? PROBE_BLOCK_BYTES : 1;
    const uint64_t grains = f->geometry.need / grain, places = counting ? 2 : 8;
    const struct kernel *kernel = kernel_for(f->header.layout);
    map_expect(&f->map, MAP_SCAN);
    for (size_t i = 0; i < cells; i++) {
        uint64_t from = share(grains, i, cells), to = share(grains, i + 1, cells);
        to = to > from ? to : from + 1;
        struct kernel_tally tally = { 0 };
        kernel->tally(f->view.body + from * grain, (size_t)((to - from) * grain), &tally);
        uint64_t last = blocked || to < grains ? to * grain * places : f->header.m;
        fill[i] = (double)tally.ones / (double)(last - from * grain * places);
    }
    map_expect(&f->map, MAP_LOOKUPS);
    return 0;
}
