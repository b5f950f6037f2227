/* SPDX-License-Identifier: MIT
 * bfmerge - combine filters: union, intersection, slices; or project a counting filter */
#include "bfmerge/sources.h"
#include "cli/cli.h"
#include "cli/names.h"
#include "filters/destination.h"
#include "filters/lost_keys.h"
#include "filters/messages.h"
#include "filters/opening.h"
#include "filters/params.h"
#include "filters/report.h"
#include "filters/same_file.h"

#include <bloomfile.h>
#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <bloomfile_unstable.h>

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    UNION = 0,
    INTERSECT = 1,
    PROJECT = 2,
    SLICES = 3
};

struct request {
    const char *dest;
    struct names sources;
    unsigned mode;
    struct bloomfile_merge_params params;
    struct params_metadata metadata;
    unsigned open_flags;
    struct report report;
    bool disjoint, overfull, as_is, force, discard, quiet, verbose;
};

static const struct options_entry entries[OPTIONS_MOST] = {
    OPTIONS_TITLE("Mode:"),
    OPTION(0, "union", NULL, "DEST has all keys of all SRCs (default)",
           OPTIONS_BITS(struct request, mode, UNION), .rival = 'm'),
    OPTION(0, "intersect", NULL,
           "DEST has the keys that all SRCs have, and more false positives than a filter built from"
           " those keys",
           OPTIONS_BITS(struct request, mode, INTERSECT), .rival = 'm'),
    OPTION(0, "project", NULL, "convert a counting filter to a classic filter, a quarter the size",
           OPTIONS_BITS(struct request, mode, PROJECT), .rival = 'm'),
    OPTION(0, "slices", NULL, "join all slices of one filter, made by 'bfcreate --slice'",
           OPTIONS_BITS(struct request, mode, SLICES), .rival = 'm'),
    OPTIONS_TITLE("Input:"),
    NAMES_FROM_OPTION(struct request, sources),
    OPTION(0, "as-is", NULL, "with --slices: join the slices even if keys may be missing",
           OPTIONS_FLAG(struct request, as_is)),
    OPTION(0, "disjoint", NULL, "SRCs have no keys in common; add up their key counts",
           OPTIONS_FLAG(struct request, disjoint)),
    OPTIONS_TITLE("Filter:"),
    OPTION('p', "fpr", "RATE",
           "highest false-positive rate allowed for DEST; 1 allows any (default: the highest target"
           " rate of the SRCs)",
           OPTIONS_RATE(struct request, params.max_fpr, 1)),
    PARAMS_METADATA(struct request, metadata),
    PARAMS_ACCEPT_UNCLEAN(struct request, open_flags, "SRC"),
    OPTION(0, "overfull", NULL, "with --slices: " PARAMS_OVERFULL,
           OPTIONS_FLAG(struct request, overfull)),
    OPTIONS_TITLE("Output:"),
    OPTION('f', "force", NULL, "replace DEST if it is also a SRC, or has no keys",
           OPTIONS_FLAG(struct request, force)),
    LOST_KEYS_OPTION(struct request, discard),
    REPORT_OPTION(struct request, report),
    OPTIONS_TITLE("Other:"),
    PARAMS_QUIET_VERBOSE(struct request, PARAMS_QUIET_KEYS),
    OPTIONS_END,
};

static const struct options options = {
    .usages = { "[options] DEST SRC...", "--slices [options] DEST SRC...",
                "--project [options] DEST SRC" },
    .operands = { { "DEST", OPTIONS_A_FILTER }, { "SRC", OPTIONS_A_FILTER } },
    .about = "Combine the Bloom filters SRC into DEST. They must have the same layout, -k and "
             "seed: build"
             " them with the same -n, the total number of keys in all SRCs. Filters of different"
             " sizes are first folded to their greatest common size. SRC '-' is standard input,"
             " which may hold several filters; DEST '-' is standard output.",
    .entries = entries,
    .notes = PARAMS_NUMBERS "; " PARAMS_RATES ".\n"
                            "Exit status: 0 on success, 2 on error.",
    .examples = "  bfmerge all.bloom shard-*.bloom\n"
                "  bfmerge -f all.bloom all.bloom new.bloom      add the keys of new.bloom\n"
                "  bfmerge --slices all.bloom part-*.bloom\n"
                "  ssh host1 cat a.bloom b.bloom | bfmerge all.bloom - here.bloom\n",
};

/* ------------------------------------------------------------------------------- command line */

static void check_options(const struct request *r)
{
    if (r->mode != UNION && (r->params.max_fpr > 0 || r->disjoint))
        cli_usage("%s needs --union", r->disjoint ? "--disjoint" : "--fpr");
    if (r->discard && !r->force)
        cli_usage("--discard needs --force");
    if (r->mode != SLICES && r->as_is)
        cli_usage("--as-is needs --slices");
    if (r->mode != SLICES && r->overfull)
        cli_usage("--overfull needs --slices");
    if (r->sources.count == 0)
        cli_usage("the name of SRC is missing");
    if (report_wanted(&r->report) && destination_is_stdout(r->dest))
        cli_usage("--report needs a file for DEST");
    if (r->mode == PROJECT && r->sources.count != 1)
        cli_usage("--project takes one SRC");
}

static void parse(struct request *r, int argc, char **argv)
{
    const int first = options_parse(&options, r, argc, argv);
    if (first == argc || argv[first][0] == '\0')
        cli_usage("the name of DEST is missing");
    message_order = "DEST comes first: bfmerge DEST SRC...";
    r->dest = argv[first];
    names_read(&r->sources, argv + first + 1, argc - first - 1);
    check_options(r);
}

/* ------------------------------------------------------------------------------------- sources */

static struct merge_dest dest_of(const struct request *r)
{
    return (struct merge_dest){ .path = r->dest,
                                .src = r->sources.list,
                                .src_count = r->sources.count,
                                .is_union = r->mode == UNION,
                                .force = r->force,
                                .discard = r->discard };
}

static void open_sources(const struct request *r, struct merge_sources *s)
{
    s->open_flags = r->open_flags;
    s->slices = r->mode == SLICES;
    for (int i = 0; i < r->sources.count; i++)
        merge_sources_add(s, r->sources.list[i]);
    merge_sources_check(s);
    if (s->slices)
        merge_slices_check(s, r->as_is);
}

static void check_layout(const struct request *r, const struct merge_sources *s)
{
    const struct bloomfile_traits *traits = bloomfile_traits_of(s->list[0].info.layout);
    if (r->mode == PROJECT && s->count != 1)
        cli_usage("--project takes one SRC");
    if (r->mode == PROJECT && traits->projection == 0)
        cli_fail(BLOOMFILE_ENOTCOUNTING, "cannot project %s", s->list[0].name);
    if (r->mode == INTERSECT && traits->counts)
        cli_fail(BLOOMFILE_EISCOUNTING, "cannot intersect %s", s->list[0].name);
}

/* The number of keys in a union of disjoint sources; 0 if unknown. */
static uint64_t count_keys(const struct request *r, const struct merge_sources *s)
{
    uint64_t keys = 0;
    for (size_t i = 0; r->disjoint && i < s->count; i++) {
        const struct merge_source *source = &s->list[i];
        struct bloomfile_info info = BLOOMFILE_INFO_INIT;
        bloomfile_get_info(source->filter, &info); /* a live source may have more keys now */
        if (info.keys_estimated != 0 || info.writers > 0) {
            if (!r->quiet)
                cli_warn("%s: its number of keys is an estimate, and so is that of %s",
                         source->name, destination_name(r->dest));
            return 0;
        }
        keys += info.keys; /* each at most 2^60 */
        if (keys > BLOOMFILE_MAX_BITS)
            return 0;
    }
    return keys;
}

/* ------------------------------------------------------------------------------------- merging */

static uint64_t common_bits(const struct merge_sources *s)
{
    uint64_t common = 0;
    for (size_t i = 0; i < s->count; i++) {
        for (uint64_t bits = s->list[i].info.bits, rest; bits != 0; bits = rest) {
            rest = common % bits;
            common = bits;
        }
    }
    return common;
}

static _Noreturn void fail_for_rate(const struct request *r, const struct merge_sources *s)
{
    double promised = 0;
    char rate[32];
    for (size_t i = 0; i < s->count; i++)
        promised = s->list[i].info.fpr > promised ? s->list[i].info.fpr : promised;
    cli_fail(0,
             "cannot merge into %s: in the common size of %" PRIu64
             " %s%s its false-positive rate would pass %s (build all filters with the same -n, the "
             "number of all keys; to allow a higher rate: --fpr)",
             destination_name(r->dest), common_bits(s),
             bloomfile_traits_of(s->list[0].info.layout)->cell, cli_s(common_bits(s)),
             cli_percent(rate, sizeof(rate), r->params.max_fpr > 0 ? r->params.max_fpr : promised));
}

/* Handles every mode except PROJECT. */
static int combine(const struct request *r, const struct merge_sources *s,
                   struct bloomfile_destination *to)
{
    struct bloomfile_merge_params params = r->params;
    const struct bloomfile_metadata *given = &r->metadata.given;
    params.metadata = given;
    params.op = r->mode == INTERSECT ? BLOOMFILE_MERGE_INTERSECTION : BLOOMFILE_MERGE_UNION;
    if (r->mode != SLICES)
        params.keys = count_keys(r, s);
    const unsigned accept = r->as_is ? BLOOMFILE_JOIN_ACCEPT_INCOMPLETE : 0;
    const bloomfile_filter **filters = merge_sources_filters(s);
    const int error = r->mode == SLICES ? bloomfile_join(to, filters, s->count, given, accept)
                                        : bloomfile_merge(to, filters, s->count, &params);
    free(filters);
    return error;
}

static int make(const struct request *r, const struct merge_sources *s)
{
    bloomfile_filter *first = s->list[0].filter;
    const struct merge_dest dest = dest_of(r);
    destination_hold(r->dest, first);
    destination_check_again(r->dest);
    merge_dest_check(&dest, s);
    struct bloomfile_destination to = destination_of(r->dest, r->force);
    return r->mode == PROJECT ? bloomfile_project(&to, first, &r->metadata.given)
                              : combine(r, s, &to);
}

static void merge(const struct request *r, const struct merge_sources *s)
{
    struct cli_progress progress = { .doing = "merging ...", .shown_ns = r->quiet ? -1 : 0 };
    cli_progress_step(&progress);
    int error = make(r, s);
    if (error != 0)
        merge_sources_check_damage(s);
    if (error == BLOOMFILE_EOVERRATE)
        fail_for_rate(r, s);
    if (error != 0)
        destination_fail(r->dest, error);
    cli_progress_end(&progress);
}

/* Warns about the rate of the result. If no source records a target, no rate was refused. */
static void warn(const struct request *r, const struct bloomfile_info *info,
                 struct message_rate rate)
{
    char is[32];
    message_warnings(r->dest, info, rate);
    if (r->mode != UNION || rate.rate <= MESSAGE_USELESS)
        return;
    if (info->fpr <= 0 && r->params.max_fpr <= 0)
        cli_warn(
            "%s: the false-positive rate is %s, and no SRC has a target rate (set it with --fpr)",
            r->dest, cli_percent(is, sizeof(is), rate.rate));
    else
        cli_warn("%s: its false-positive rate is %s (build all sources with the same -n, the "
                 "number of all keys)",
                 r->dest, cli_percent(is, sizeof(is), rate.rate));
}

static void report(struct request *r, size_t sources)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    struct bloomfile_measurement measure = BLOOMFILE_MEASUREMENT_INIT;
    const bool tells = !r->quiet || report_wanted(&r->report);
    opening_result(r->dest, "was created", &info, tells ? &measure : NULL);
    if (report_wanted(&r->report)) {
        json *object = report_of_filter(r->dest, &info, &measure);
        r->report.file.written = r->dest;
        json_put_count(object, "sources", sources);
        report_put(&r->report, object);
    }
    if (!r->quiet) {
        struct message_rate rate = { measure.fpr, true };
        bool summary = r->verbose || isatty(STDERR_FILENO);
        warn(r, &info, rate);
        if (summary)
            message_summary(r->dest, &info, rate, 0);
        if (summary && (info.provenance & BLOOMFILE_PROVENANCE_INTERSECTION) != 0)
            cli_note(0, "%s: an intersection, so its rate is only an estimate", r->dest);
    }
}

int main(int argc, char **argv)
{
    struct request r = { .params = BLOOMFILE_MERGE_PARAMS_INIT, .metadata = PARAMS_METADATA_INIT };
    struct merge_sources sources = { 0 };
    cli_start(argv[0]);
    parse(&r, argc, argv);
    cli_catch_bus_error("a filter to merge");
    if (r.sources.files_count > 0)
        same_file_check_inputs(r.dest, r.sources.files, r.sources.files_count);
    const struct merge_dest dest = dest_of(&r);
    merge_dest_check_names(&dest);
    report_open(&r.report, &r.sources, r.dest, NULL);
    open_sources(&r, &sources);
    merge_dest_check(&dest, &sources);
    check_layout(&r, &sources);
    if (r.mode == SLICES && !r.overfull)
        merge_slices_check_capacity(&sources, destination_name(r.dest));
    merge(&r, &sources);
    if (!destination_is_stdout(r.dest))
        report(&r, sources.count);
    report_close(&r.report);
    merge_sources_close(&sources);
    cli_close_stdout();
    names_free(&r.sources);
    return 0;
}
