/* SPDX-License-Identifier: MIT
 * bfcreate: refusal to create a filter over capacity, whose old file stays; slices. */
#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <bloomfile_unstable.h>
#include <inttypes.h>
#include <stdio.h>

#include "bfcreate/create.h"
#include "cli/cli.h"
#include "filters/destination.h"
#include "filters/messages.h"

#define BLOCK_BITS 512u
#define PAGE_BITS  (8 * 4096u)

/* ---- a filter that is not there */

/* A layout that is solved has no empty filter: a blocked one of the same size stands for it. If its
 * size is not given, it has whole pages. */
static void take_its_like(struct bloomfile_params *p)
{
    if (p->bits == 0) {
        p->fpr = p->fpr > 0 ? p->fpr : CREATE_DEFAULT_FPR;
        p->bits = bloomfile_bits_for(p->layout, p->capacity, p->fpr, 0);
        p->bits = (p->bits + PAGE_BITS - 1) / PAGE_BITS * PAGE_BITS;
    }
    p->layout = BLOOMFILE_LAYOUT_BLOCKED;
    p->hashes = 1;
}

int create_inspect_its_like(const struct create *c, bloomfile_builder *builder,
                            struct bloomfile_info *info)
{
    bloomfile_filter *f;
    struct bloomfile_params params = c->params;
    params.memory = params.threads = 0;
    params.spool = NULL;
    params.slice = params.slices = 0;
    uint64_t keys;
    int error = bloomfile_builder_count(builder, &keys);
    if (params.capacity == 0)
        params.capacity = keys > 0 ? keys : 1;
    if (bloomfile_traits_of(params.layout)->solved)
        take_its_like(&params);
    if (error == 0)
        error = bloomfile_create_memory(&f, &params, BLOOMFILE_OPEN_OVER_CAPACITY);
    if (error != 0)
        return error;
    bloomfile_get_info(f, info);
    bloomfile_close(f);
    if (c->params.slices > 0)
        create_cut_slice(c, info);
    info->layout = c->params.layout;
    info->hashes = bloomfile_traits_of(info->layout)->solved ? 0 : info->hashes;
    info->keys = keys;
    info->ones = keys; /* any number above 0 will do */
    return 0;
}

/* ---- refusing it */

static _Noreturn void refuse(const struct create *c, const char *why)
{
    cli_fail(0, "cannot %s %s: %s; to accept the rate: --overfull)",
             destination_is_stdout(c->path) ? "write to" : "create", destination_name(c->path),
             why);
}

/* "300 keys in a filter sized for 100"; without -n, "300 keys in 1024 bits" */
static void describe_keys(const struct create *c, const struct bloomfile_info *info, char *text,
                          size_t size)
{
    const uint64_t whole = info->whole_blocks * BLOCK_BITS;
    if (c->params.slices > 0)
        snprintf(text, size,
                 "%" PRIu64 " keys in a slice sized for %.0f (-n %" PRIu64 " is for all slices)",
                 info->keys, (double)info->capacity * (double)info->bits / (double)whole,
                 info->capacity);
    else if (c->params.capacity > 0)
        snprintf(text, size, "%" PRIu64 " key%s in a filter sized for %" PRIu64, info->keys,
                 cli_s(info->keys), info->capacity);
    else
        snprintf(text, size, "%" PRIu64 " key%s in %" PRIu64 " %ss", info->keys, cli_s(info->keys),
                 info->bits, bloomfile_traits_of(info->layout)->cell);
}

static void advise(const struct create *c, const struct bloomfile_info *info, char *text,
                   size_t size)
{
    if (c->params.slices > 0)
        snprintf(text, size, "make all slices with a larger -n");
    else if (c->params.bits > 0)
        snprintf(text, size, "use a larger -m, or leave out -m");
    else
        snprintf(text, size, "use -n %" PRIu64 " or more, or leave out -n", info->keys);
}

_Noreturn void create_refuse_over_capacity(const struct create *c, bloomfile_builder *builder)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    char why[500], keys[200], advice[80], is[32], promised[32];
    if (create_inspect_its_like(c, builder, &info) != 0)
        refuse(c, "over capacity (make it larger");
    const double rate = bloomfile_fpr_for(info.layout, info.bits, info.hashes, info.keys);
    describe_keys(c, &info, keys, sizeof(keys));
    advise(c, &info, advice, sizeof(advice));
    snprintf(why, sizeof(why),
             "over capacity: %s would have a false-positive rate of %s, target %s (%s", keys,
             cli_percent(is, sizeof(is), rate),
             cli_percent(promised, sizeof(promised), message_promised(&info)), advice);
    refuse(c, why);
}

void create_check_useless(const struct create *c, bloomfile_builder *builder)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    char why[300], is[32];
    const bool promises = c->params.fpr > 0 || c->params.capacity > 0 || c->params.bits == 0;
    if (c->overfull || promises || create_inspect_its_like(c, builder, &info) != 0)
        return;
    const double rate = bloomfile_fpr_for(info.layout, info.bits, info.hashes, info.keys);
    if (rate <= MESSAGE_USELESS)
        return;
    snprintf(why, sizeof(why),
             "%" PRIu64 " keys in %" PRIu64 " %ss: its false-positive rate would be %s (use"
             " a larger -m, or leave out -m",
             info.keys, info.bits, bloomfile_traits_of(info.layout)->cell,
             cli_percent(is, sizeof(is), rate));
    refuse(c, why);
}

/* ---- bfcreate --slice: the range of a slice, and its summary. */

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
