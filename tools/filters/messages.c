/* SPDX-License-Identifier: MIT
 * Messages about filters, shared so that all tools use the same words. */
#include "filters/messages.h"

#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <bloomfile_open.h>
#include <bloomfile_unstable.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "filters/params.h"
#include "filters/series.h"
#include "keys/input_type.h"

const char *message_order;

const char *message_advice(int error)
{
    switch (error) {
    case BLOOMFILE_ENOBOOT:
        return " (mount /proc)";
    case BLOOMFILE_ESEALED:
        return " (create a filter for adding: bfcreate --live -n N NEWFILE)";
    case BLOOMFILE_EISRIBBON:
        return " (build a filter from the keys with bfcreate)";
    case BLOOMFILE_EISSLICE:
        return " (join all slices: bfmerge --slices)";
    case BLOOMFILE_EFILESYSTEM:
        return " (keep it on a local disk, or use a sealed copy)";
    case BLOOMFILE_ETEXTMODE:
    case BLOOMFILE_EHEADER:
    case BLOOMFILE_ETRUNCATED:
    case BLOOMFILE_ETRAILING:
    case BLOOMFILE_ERECORD:
    case BLOOMFILE_ESTATE:
    case BLOOMFILE_EPAGE:
    case BLOOMFILE_EBODY:
        return " (restore it from a copy, or rebuild it; bfinspect shows the damage)";
    default:
        return "";
    }
}

void message_fail(int error, const char *what, const char *path)
{
    struct input_type_text is;
    if (error == BLOOMFILE_EMAGIC && input_type_describe_file(path, &is))
        cli_fail(0, "%s %s: %s (%s)", what, path, is.what, is.remedy);
    if (error == BLOOMFILE_EMAGIC && message_order != NULL)
        cli_fail(0, "%s %s: %s (%s)", what, path, bloomfile_strerror(error), message_order);
    cli_fail(0, "%s %s: %s%s", what, path, cli_words(error), message_advice(error));
}

void message_check_name(const char *path)
{
    if (strcmp(path, "-") == 0)
        cli_fail(0, "cannot read a filter from standard input: it is memory-mapped (name a file)");
}

void message_cannot_open(const char *path, const struct bloomfile_open_report *report)
{
    const int error = report->error;
    const char *words = bloomfile_strerror(error);
    if (error == ENOENT)
        message_check_name(path);
    char about[SERIES_TEXT];
    if (series_explain(path, report, about))
        cli_fail(0, "cannot open %s: %s", path, about);
    if (error == BLOOMFILE_EUNCLEAN)
        cli_fail(0,
                 "cannot open %s: %s (add the keys since the last sync again with bfadd"
                 " --accept-unclean, or rebuild it)",
                 path, words);
    if (error == BLOOMFILE_EPOISONED)
        cli_fail(0, "cannot open %s: %s (rebuild it from its keys)", path, words);
    if (error == BLOOMFILE_ELIVE)
        cli_fail(
            0,
            "cannot verify %s: it is live, and has no checksums (leave out --verify, or verify a"
            " sealed copy: bfseal FILE COPY)",
            path);
    if (error == EBUSY)
        cli_fail(0,
                 "cannot open %s: it is being sealed, or another process has locked it for writing"
                 " (try again later)",
                 path);
    if (error == ENOMEM)
        cli_fail(0,
                 "cannot open %s: %s (if there are more than 30,000 files, use fewer at a time, or"
                 " raise vm.max_map_count)",
                 path, words);
    message_fail(error, "cannot open", path);
}

void message_replaced(const char *path)
{
    if (access(path, F_OK) != 0)
        cli_fail(0,
                 "cannot replace %s: another process removed it during the run (restore it if it is"
                 " a source, then run it again)",
                 path);
    cli_fail(0,
             "cannot replace %s: another process replaced it during the run (check the new file,"
             " then run it again)",
             path);
}

void message_cannot_create(const char *path, int error)
{
    if (error == BLOOMFILE_EREPLACED)
        message_replaced(path);
    if (error == EEXIST)
        cli_fail(0,
                 "cannot create %s: %s (write to another file; --force would overwrite this file)",
                 path, bloomfile_strerror(error));
    if (error == EPERM && access(path, F_OK) != 0)
        cli_fail(0, "cannot create %s: %s (if the file system has no hard links, add --force)",
                 path, bloomfile_strerror(error));
    if (error == EBUSY)
        cli_fail(0,
                 "cannot replace %s: another process has locked it (try again later, or write to "
                 "another file)",
                 path);
    char others[SERIES_TEXT];
    if (error == BLOOMFILE_ESERIES && series_files(path, others))
        cli_fail(
            0,
            "cannot create %s: %s exists, and later layers need that name (write to another file)",
            path, others);
    message_fail(error, "cannot create", path);
}

void message_if_series(const char *attempt, const char *path, const bloomfile_filter *f)
{
    if (bloomfile_layers(f) > 0)
        cli_fail(
            0,
            "cannot %s %s: it is a series of layers, which cannot become one filter at the target "
            "rate (build one from the keys with bfcreate, or ship a sealed copy made by bfseal)",
            attempt, path);
}

/* Tolerance for rounding: sizing treats rates within 2^-26 of each other as equal (sizes.md
 * of the format). */
#define ROUNDING 1e-7

double message_promised(const struct bloomfile_info *info)
{
    return info->fpr > 0 ? info->fpr : message_expected(info, info->capacity);
}

struct bloomfile_size message_size(const struct bloomfile_info *info, uint64_t keys)
{
    struct bloomfile_size size = BLOOMFILE_SIZE_INIT;
    size.layout = info->layout;
    size.hashes = info->hashes;
    size.bits = info->bits;
    size.keys = keys;
    return size;
}

double message_expected(const struct bloomfile_info *info, uint64_t keys)
{
    struct bloomfile_size size = message_size(info, keys);
    return keys > 0 && bloomfile_size_for(&size) == 0 ? size.fpr : 0;
}

uint64_t message_estimate(const struct bloomfile_info *info,
                          const struct bloomfile_measurement *measure)
{
    double keys = measure->keys_estimate;
    return keys < (double)info->bits ? (uint64_t)(keys + 0.5) : info->bits; /* all set */
}

static const char *estimated(const struct bloomfile_info *info)
{
    return info->keys_estimated != 0 ? "about " : "";
}

bool message_is_empty(const struct bloomfile_info *info)
{
    return (bloomfile_traits_of(info->layout)->solved ? info->keys : info->ones) == 0;
}

void message_no_keys(const char *path)
{
    cli_warn("%s: it has no keys, so every lookup returns no", path);
}

void message_warnings(const char *path, const struct bloomfile_info *info, struct message_rate rate)
{
    double promised = message_promised(info);
    const char *about = rate.measured ? "" : "about ";
    char is[32], should_be[32];
    if (message_is_empty(info))
        message_no_keys(path);
    if (rate.rate <= promised * (1 + ROUNDING))
        return;
    cli_percent(is, sizeof(is), rate.rate);
    cli_percent(should_be, sizeof(should_be), promised);
    if (info->keys > info->capacity)
        cli_warn("%s: %s%" PRIu64 " keys, more than the capacity of %" PRIu64
                 ": the false-positive rate is %s%s, target %s",
                 path, estimated(info), info->keys, info->capacity, about, is, should_be);
    else if (!rate.measured)
        cli_warn("%s: too few bits: the false-positive rate is about %s, target %s", path, is,
                 should_be);
}

void message_summary(const char *path, const struct bloomfile_info *info, struct message_rate rate,
                     uint64_t repeated)
{
    char size[32], each[64] = "", again[64] = "", is[32], promised[32], note[64] = "";
    if (info->keys > 0)
        snprintf(each, sizeof(each), ", %.2f %ss each", (double)info->bits / (double)info->keys,
                 bloomfile_traits_of(info->layout)->cell);
    if (repeated > 0)
        snprintf(again, sizeof(again), " (%" PRIu64 " repeated)", repeated);
    if (info->fpr > 0)
        snprintf(note, sizeof(note), " (target %s)",
                 cli_percent(promised, sizeof(promised), info->fpr));
    cli_note(
        0, "%s: %s%" PRIu64 " key%s%s%s, %sfalse-positive rate %s%s, %s", path, estimated(info),
        info->keys, cli_s(info->keys), again, each, rate.measured ? "" : "expected ",
        cli_percent(is, sizeof(is), rate.rate), note,
        cli_bytes(size, sizeof(size), info->rest_size > 0 ? info->rest_size : info->image_size));
}

/* ---- Filters that cannot be created: the size that follows from -n and -p, and the lowest rate
 * that 64-bit digests allow. */

static const double default_fpr = 0.01;

double too_large_rate(const struct bloomfile_params *p)
{
    const double fpr = p->fpr > 0 ? p->fpr : default_fpr;
    return p->series == BLOOMFILE_SERIES_GROW ? fpr / 8 : p->series > 0 ? fpr / p->series : fpr;
}

double too_large_bytes(const struct bloomfile_params *p)
{
    const uint32_t layout = p->layout != 0 ? p->layout : BLOOMFILE_LAYOUT_BLOCKED;
    const struct bloomfile_traits *traits = bloomfile_traits_of(layout);
    struct bloomfile_params one = *p;
    struct bloomfile_size size;
    one.fpr = too_large_rate(p);
    const uint64_t bits = p->bits > 0 || !params_size(&one, &size) ? p->bits : size.bits;
    const double filters = p->series > 1 && p->series != BLOOMFILE_SERIES_GROW ? p->series : 1;
    return filters * (double)bits * traits->cell_bits / 8;
}

static bool explain_size(const struct bloomfile_params *p, char *text)
{
    char size[32];
    const double bytes = too_large_bytes(p);
    if (bytes <= 0 || bytes >= 0x1p63 || (p->capacity == 0 && p->bits == 0))
        return false;
    snprintf(text, TOO_LARGE_TEXT, "-%c %" PRIu64 " needs %s", p->bits > 0 ? 'm' : 'n',
             p->bits > 0 ? p->bits : p->capacity, cli_bytes(size, sizeof(size), (uint64_t)bytes));
    return true;
}

/* The keys take up to that many of the 2^64 digests, so the rate cannot be lower at any size. A
 * capacity of 0 means that the keys are not counted yet: then one key is the best case. */
static bool explain_rate(const struct bloomfile_params *p, char *text)
{
    char rate[32];
    const uint64_t keys = p->capacity > 0 ? p->capacity : 1;
    const double share = too_large_rate(p) / (p->fpr > 0 ? p->fpr : default_fpr);
    const double least = (double)keys / 0x1p64;
    if (p->bits > 0 || too_large_rate(p) >= least)
        return false;
    cli_percent(rate, sizeof(rate), least / share);
    if (p->capacity == 0)
        snprintf(text, TOO_LARGE_TEXT,
                 "the lowest rate is %s, even for 1 key (number of keys / 2^64)", rate);
    else
        snprintf(text, TOO_LARGE_TEXT,
                 "the lowest rate for %" PRIu64 " key%s is %s (their number / 2^64)", keys,
                 cli_s(keys), rate);
    return true;
}

bool too_large_explain(const struct bloomfile_params *params, int error, char text[TOO_LARGE_TEXT])
{
    switch (error) {
    case ENOMEM:
    case ENOSPC:
    case EFBIG:
    case EDQUOT:
        return explain_size(params, text);
    case BLOOMFILE_EUNREACHABLE:
        return explain_rate(params, text);
    default:
        return false;
    }
}
