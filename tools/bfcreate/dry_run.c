/* SPDX-License-Identifier: MIT
 * bfcreate --dry-run: the size and rate of the filter and of the other layouts. */
#include "bfcreate/create.h"
#include "cli/cli.h"
#include "filters/messages.h"
#include "filters/overfull.h"
#include "filters/params.h"

#include <bloomfile_unstable.h>
#include <inttypes.h>

enum {
    SHORT = 32
};

/* Each layer of a series gets a part of the target rate. */
static struct create first_layer(const struct create *c)
{
    struct create layer = *c;
    if (c->params.series != 0)
        layer.params.fpr = too_large_rate(&c->params);
    return layer;
}

/* Every slice of a filter has the rate of the whole filter. */
static struct bloomfile_info whole_of(const struct bloomfile_info *info)
{
    struct bloomfile_info whole = *info;
    if (info->whole_blocks > 0)
        whole.bits = info->whole_blocks * CREATE_BLOCK_BITS;
    return whole;
}

static double rate_of(const struct bloomfile_info *info)
{
    const struct bloomfile_info whole = whole_of(info);
    return message_expected(&whole, whole.capacity);
}

static double bits_per_key(const struct bloomfile_info *info)
{
    const struct bloomfile_info whole = whole_of(info);
    const double bits = (double)whole.bits * bloomfile_traits_of(info->layout)->cell_bits;
    return bits / (double)whole.capacity;
}

static void check_rate(const struct create *c, const struct bloomfile_info *info)
{
    const struct bloomfile_info whole = whole_of(info);
    if (!c->overfull && overfull_is_over(rate_of(info), message_promised(&whole)))
        create_refuse_size(c, &whole);
}

static void print_filter(const struct create *c, const struct bloomfile_info *info)
{
    const struct bloomfile_traits *traits = bloomfile_traits_of(info->layout);
    char rate[SHORT], target[SHORT] = "", size[SHORT];
    if (info->fpr > 0)
        cli_percent(target, sizeof(target), info->fpr);
    cli_print("layout         %s\n", traits->name);
    cli_print("m              %" PRIu64 " %ss\n", info->bits, traits->cell);
    if (!traits->solved)
        cli_print("k              %" PRIu32 "\n", info->hashes);
    cli_print("capacity       %" PRIu64 " keys%s\n", info->capacity,
              c->params.slices > 0 ? " in all slices" : "");
    cli_print("bits per key   %.2f\n", bits_per_key(info));
    cli_print("expected rate  %s%s%s\n", cli_percent(rate, sizeof(rate), rate_of(info)),
              target[0] != '\0' ? ", target " : "", target);
    cli_print("size           %" PRIu64 " bytes, %s%s\n", info->image_size,
              cli_bytes(size, sizeof(size), info->image_size),
              c->grow                 ? ", then more layers"
              : c->params.series != 0 ? ", and as much for each generation"
                                      : "");
}

/* Whether the layout allows the other options. */
static bool is_possible(const struct create *c, uint32_t layout)
{
    const struct bloomfile_traits *traits = bloomfile_traits_of(layout);
    if (c->params.slices > 0)
        return layout == BLOOMFILE_LAYOUT_BLOCKED;
    return !(traits->solved && (c->live || c->params.hashes > 0)) &&
           !(traits->counts && c->params.series != 0);
}

static void print_layout(const struct create *c, uint32_t layout)
{
    struct create other = *c;
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    char rate[SHORT], size[SHORT], hashes[SHORT] = "-";
    const struct bloomfile_traits *traits = bloomfile_traits_of(layout);
    other.params.layout = layout;
    other.params.bits = create_whole_units(c, layout);
    if (create_describe(&other, 0, &info) != 0) {
        cli_print("%-13s  cannot reach the rate\n", traits->name);
        return;
    }
    if (!traits->solved)
        snprintf(hashes, sizeof(hashes), "%" PRIu32, info.hashes);
    cli_print("%-13s  %12.2f  %2s  %13s  %20" PRIu64 " bytes, %s\n", traits->name,
              bits_per_key(&info), hashes, cli_percent(rate, sizeof(rate), rate_of(&info)),
              info.image_size, cli_bytes(size, sizeof(size), info.image_size));
}

void create_dry_run(const struct create *c, bool all)
{
    const struct create one = first_layer(c);
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    if (!c->live)
        bloomfile_builder_free(create_builder(c, &c->params));
    if (create_describe(&one, 0, &info) != 0)
        create_fail(c, BLOOMFILE_EUNREACHABLE);
    check_rate(c, &info);
    print_filter(c, &info);
    if (all)
        cli_print("every layout   bits per key   k  expected rate  %s\n", "size");
    for (uint32_t layout = 1; all && bloomfile_traits_of(layout) != NULL; layout++) {
        if (is_possible(c, layout))
            print_layout(&one, layout);
    }
}
