/* SPDX-License-Identifier: MIT
 * bfcreate: planning the size of a filter, refusing a filter over capacity, and slices. */
#include <bloomfile_inspect.h>
#include <bloomfile_unstable.h>
#include <inttypes.h>
#include <stdio.h>

#include "bfcreate/create.h"
#include "cli/cli.h"
#include "filters/destination.h"
#include "filters/messages.h"
#include "filters/params.h"

#define PAGE_BITS (8 * 4096u)

/* ---- Description of a filter before it is built. */

/* The number of bits in the file. A solved layout has whole pages, unless -m sets its size. */
static uint64_t bits_in_file(const struct create *c, const struct bloomfile_size *size)
{
    const bool solved = bloomfile_traits_of(c->params.layout)->solved;
    return solved && c->params.bits == 0 && !c->embedded
               ? (size->bits + PAGE_BITS - 1) / PAGE_BITS * PAGE_BITS
               : size->bits;
}

uint64_t create_whole_units(const struct create *c, uint32_t layout)
{
    const uint32_t unit = bloomfile_traits_of(layout)->unit_cells;
    return (c->cells + unit - 1) / unit * unit;
}

int create_describe(const struct create *c, uint64_t keys, struct bloomfile_info *info)
{
    struct bloomfile_size size;
    struct bloomfile_params p = c->params;
    if (p.capacity == 0)
        p.capacity = keys;
    if (!params_size(&p, &size))
        return BLOOMFILE_EUNREACHABLE;
    *info = BLOOMFILE_INFO_INIT;
    info->layout = size.layout;
    info->hashes = size.hashes;
    info->bits = bits_in_file(c, &size);
    info->capacity = size.keys;
    info->fpr = p.fpr > 0 || p.bits > 0 ? p.fpr : CREATE_DEFAULT_FPR;
    info->image_size = c->embedded ? size.image_size : size.file_size;
    info->keys = keys;
    info->ones = keys; /* any number above 0 */
    if (c->params.slices > 0)
        create_cut_slice(c, info);
    return 0;
}

int create_inspect_its_like(const struct create *c, bloomfile_builder *builder,
                            struct bloomfile_info *info)
{
    uint64_t keys;
    const int error = bloomfile_builder_count(builder, &keys);
    if (error != 0)
        return error;
    const int unreachable = create_describe(c, keys > 0 ? keys : 1, info);
    info->keys = info->ones = keys;
    return unreachable;
}

/* ---- Refusal. */

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
    const uint64_t whole = info->whole_blocks * CREATE_BLOCK_BITS;
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
    const double rate = message_expected(&info, info.keys);
    describe_keys(c, &info, keys, sizeof(keys));
    advise(c, &info, advice, sizeof(advice));
    snprintf(why, sizeof(why),
             "over capacity: %s would have a false-positive rate of %s, target %s (%s", keys,
             cli_percent(is, sizeof(is), rate),
             cli_percent(promised, sizeof(promised), message_promised(&info)), advice);
    refuse(c, why);
}

_Noreturn void create_refuse_size(const struct create *c, const struct bloomfile_info *info)
{
    char is[32], promised[32];
    cli_fail(0,
             "cannot create %s: over capacity: %" PRIu64 " key%s in %" PRIu64
             " %ss would have a false-positive rate of %s, target %s (use a larger -m, or leave out"
             " -m; to accept the rate: --overfull)",
             c->path, info->capacity, cli_s(info->capacity), info->bits,
             bloomfile_traits_of(info->layout)->cell,
             cli_percent(is, sizeof(is), message_expected(info, info->capacity)),
             cli_percent(promised, sizeof(promised), message_promised(info)));
}

void create_check_useless(const struct create *c, bloomfile_builder *builder)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    char why[300], is[32];
    const bool promises = c->params.fpr > 0 || c->params.capacity > 0 || c->params.bits == 0;
    if (c->overfull || promises || create_inspect_its_like(c, builder, &info) != 0)
        return;
    const double rate = message_expected(&info, info.keys);
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

#define PAGE_SIZE 4096u

void create_cut_slice(const struct create *c, struct bloomfile_info *info)
{
    const struct bloomfile_params *p = &c->params;
    const uint64_t end = bloomfile_slice_begin(info->bits, p->slices, p->slice + 1);
    info->whole_blocks = info->bits / CREATE_BLOCK_BITS;
    info->first_block = bloomfile_slice_begin(info->bits, p->slices, p->slice);
    info->bits = (end - info->first_block) * CREATE_BLOCK_BITS;
    info->pages = (info->bits / 8 + PAGE_SIZE - 1) / PAGE_SIZE;
    info->image_size = PAGE_SIZE + info->pages * (PAGE_SIZE + 4);
}

void create_fail_for_slices(const struct create *c)
{
    const struct bloomfile_params *p = &c->params;
    struct bloomfile_size size;
    const uint64_t bits = params_size(p, &size) ? size.bits : 0;
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
    struct bloomfile_info whole = *info;
    whole.bits = info->whole_blocks * CREATE_BLOCK_BITS;
    const double promised = message_promised(&whole);
    const double rate = message_expected(info, info->keys);
    char is[32], should_be[32], size[32], each[48] = "";
    cli_percent(is, sizeof(is), rate);
    cli_percent(should_be, sizeof(should_be), promised);
    if (info->keys > 0)
        snprintf(each, sizeof(each), ", %.2f bits each", (double)info->bits / (double)info->keys);
    if (c->summary)
        cli_note(0,
                 "%s: of %" PRIu64 " keys read, %" PRIu64
                 " are in this slice%s, expected false-positive rate %s (target %s), %s",
                 destination_name(c->path), read, info->keys, each, is, should_be,
                 cli_bytes(size, sizeof(size), info->image_size));
}
