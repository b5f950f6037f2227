/* SPDX-License-Identifier: MIT
 * bfcreate: refusal to create a filter over capacity; an old file stays. */
#include "bfcreate/create.h"
#include "cli/cli.h"
#include "filters/destination.h"
#include "filters/messages.h"

#include <bloomfile_live.h>
#include <inttypes.h>
#include <stdio.h>

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
    p->layout = BLOOMFILE_BLOCKED;
    p->hashes = 1;
}

int create_inspect_its_like(const struct create *c, bloomfile_builder *builder,
                            struct bloomfile_info *info)
{
    bloomfile *f;
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
        error = bloomfile_create_memory(&f, &params, BLOOMFILE_OVER_CAPACITY);
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
