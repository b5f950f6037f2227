/* SPDX-License-Identifier: MIT
 * Layers and slices have bits of their own in `incompat`, and never both. */
#include "format/portion.h"

#include "format/bytes.h"
#include "format/checksum.h"
#include "format/probe.h"

#define PAGE_BLOCKS (CHECKSUM_PAGE / PROBE_BLOCK_BYTES)

/* V28 to V32 of a layer's header, but for the state of its record. */
static void check_layer(const uint8_t *bytes, const struct header *h, struct header_faults *faults)
{
    const bool sealed = h->layers != 0, forgets = h->generations != 0;
    if (h->header_size != GEOMETRY_FILE_HEADER) {
        HEADER_FAULT(BLOOMFILE_ESERIES, header_size);
        return;
    }
    if (layout_known(h->layout) && !layout_of_layers(h->layout))
        HEADER_FAULT(BLOOMFILE_ESERIES, layout);
    if (sealed != (h->series == 0))
        HEADER_FAULT(BLOOMFILE_ESERIES, series);
    if (sealed && h->layer >= h->layers)
        HEADER_FAULT(BLOOMFILE_ESERIES, layer);
    if (forgets && (sealed || h->generations < 2 || h->generations > HEADER_MOST_LAYERS))
        HEADER_FAULT(BLOOMFILE_ESERIES, generations);
    if (h->layers > HEADER_MOST_LAYERS)
        HEADER_FAULT(BLOOMFILE_ESERIES, layers);
    if (!sealed && h->rest_size != 0)
        HEADER_FAULT(BLOOMFILE_ESERIES, rest_size);
    if (!sealed && h->link != 0)
        HEADER_FAULT(BLOOMFILE_ESERIES, link);
    if (get64(bytes + AT_series_fpr) >= HEADER_FPR_LIMIT)
        HEADER_FAULT(BLOOMFILE_ESERIES, series_fpr);
    if (!forgets && h->period != 0)
        HEADER_FAULT(BLOOMFILE_ESERIES, period);
    const uint64_t most = forgets || sealed ? INT64_MAX : HEADER_MOST_LAYERS - 1;
    if (h->layer > most)
        HEADER_FAULT(BLOOMFILE_ESERIES, layer);
    const bool rated = h->fpr != 0 && h->series_fpr != 0;
    if (!sealed && !forgets && !rated)
        HEADER_FAULT(BLOOMFILE_ESERIES, series_fpr);
    if (!forgets && h->began != 0)
        HEADER_FAULT(BLOOMFILE_ESERIES, began);
}

/* V33 and V34 of a slice's header. */
static void check_slice(const struct header *h, struct header_faults *faults)
{
    const uint64_t blocks = h->m / PROBE_BLOCK_BITS;
    if (h->header_size != GEOMETRY_FILE_HEADER) {
        HEADER_FAULT(BLOOMFILE_ESLICE, header_size);
        return;
    }
    if (header_is_layer(h))
        HEADER_FAULT(BLOOMFILE_ESLICE, incompat);
    if (layout_known(h->layout) && !layout_has_slices(h->layout))
        HEADER_FAULT(BLOOMFILE_ESLICE, layout);
    if (h->m_unfolded != h->m)
        HEADER_FAULT(BLOOMFILE_ESLICE, m_unfolded);
    if (h->first_block % PAGE_BLOCKS != 0)
        HEADER_FAULT(BLOOMFILE_ESLICE, first_block);
    if (h->whole_blocks > BLOOMFILE_MAX_BITS / PROBE_BLOCK_BITS ||
        h->first_block >= h->whole_blocks)
        HEADER_FAULT(BLOOMFILE_ESLICE, whole_blocks);
    else if (blocks > h->whole_blocks - h->first_block)
        HEADER_FAULT(BLOOMFILE_ESLICE, m);
    else if (blocks < h->whole_blocks - h->first_block && blocks % PAGE_BLOCKS != 0)
        HEADER_FAULT(BLOOMFILE_ESLICE, m);
}

void portion_check(const uint8_t *bytes, const struct header *h, struct header_faults *faults)
{
    if (header_is_slice(h))
        check_slice(h, faults);
    else if (header_is_layer(h))
        check_layer(bytes, h, faults);
}

/* V29 and V30: what the static header says of the state, which it never changes. */
static void check_layer_state(const struct header *h, struct header_faults *faults)
{
    const bool sealed = h->record.state == BLOOMFILE_SEALED;
    if (h->header_size == GEOMETRY_FILE_HEADER && sealed != (h->layers != 0))
        HEADER_FAULT(BLOOMFILE_ESERIES, layers);
}

void portion_check_state(const struct header *h, struct header_faults *faults)
{
    if (header_is_layer(h) && !header_is_slice(h))
        check_layer_state(h, faults);
}

static uint64_t pages_of(uint64_t blocks)
{
    return (blocks + PAGE_BLOCKS - 1) / PAGE_BLOCKS;
}

uint64_t portion_first_block(uint64_t blocks, uint32_t slice, uint32_t slices)
{
    const uint64_t pages = pages_of(blocks);
    const uint64_t first = pages / slices * slice + pages % slices * slice / slices;
    return slice == slices ? blocks : first * PAGE_BLOCKS;
}

/* The last slice whose first page, pages * slice / slices, is not behind the block's. */
uint32_t portion_slice_of(uint64_t blocks, uint64_t block, uint32_t slices)
{
    return (uint32_t)(((block / PAGE_BLOCKS + 1) * slices - 1) / pages_of(blocks));
}
