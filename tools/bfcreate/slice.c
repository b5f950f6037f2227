/* SPDX-License-Identifier: MIT
 * bfcreate --slice: the range of a slice, and its summary. */
#include "bfcreate/create.h"
#include "cli/cli.h"
#include "filters/destination.h"

#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <inttypes.h>

#define BLOCK_BITS 512u
#define PAGE_SIZE  4096u

void create_cut_slice(const struct create *c, struct bloomfile_info *info)
{
    const struct bloomfile_params *p = &c->params;
    const uint64_t end = bloomfile_slice_begin(info->bits, p->slices, p->slice + 1);
    info->whole_blocks = info->bits / BLOCK_BITS;
    info->first_block = bloomfile_slice_begin(info->bits, p->slices, p->slice);
    info->bits = (end - info->first_block) * BLOCK_BITS;
    info->pages = (info->bits / 8 + PAGE_SIZE - 1) / PAGE_SIZE;
    info->image_size = PAGE_SIZE + info->pages * (PAGE_SIZE + 4);
}

void create_fail_for_slices(const struct create *c)
{
    const struct bloomfile_params *p = &c->params;
    const double fpr = p->fpr > 0 ? p->fpr : CREATE_DEFAULT_FPR;
    const uint64_t bits =
        p->bits > 0 ? p->bits : bloomfile_bits_for(p->layout, p->capacity, fpr, p->hashes);
    const uint64_t pages = (bits / 8 + PAGE_SIZE - 1) / PAGE_SIZE;
    char remedy[48] = "leave out --slice";
    if (pages > 1)
        snprintf(remedy, sizeof(remedy), "--slice I/%" PRIu64 ", or fewer", pages);
    cli_fail(0,
             "cannot create %s: %" PRIu32 " slices are not possible: the whole filter has %" PRIu64
             " page%s of 4096 bytes, and each slice needs one (%s)",
             destination_name(c->path), p->slices, pages, cli_s(pages), remedy);
}

void create_report_slice(const struct create *c, const struct bloomfile_info *info, uint64_t read)
{
    const uint64_t whole = info->whole_blocks * BLOCK_BITS;
    const double promised =
        info->fpr > 0 ? info->fpr
                      : bloomfile_fpr_for(info->layout, whole, info->hashes, info->capacity);
    const double rate = bloomfile_fpr_for(info->layout, info->bits, info->hashes, info->keys);
    char is[32], should_be[32], size[32], each[48] = "";
    cli_percent(is, sizeof(is), rate);
    cli_percent(should_be, sizeof(should_be), promised);
    if (info->keys > 0)
        snprintf(each, sizeof(each), ", %.2f bits each", (double)info->bits / (double)info->keys);
    if (c->summary)
        cli_warn(0,
                 "%s: of %" PRIu64 " keys read, %" PRIu64
                 " are in this slice%s, expected false-positive rate %s (target %s), %s",
                 destination_name(c->path), read, info->keys, each, is, should_be,
                 cli_bytes(size, sizeof(size), info->image_size));
}
