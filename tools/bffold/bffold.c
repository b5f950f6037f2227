/* SPDX-License-Identifier: MIT
 * bffold - make a filter smaller, by as much as its false-positive rate allows */
#include "bffold/fold.h"
#include "cli/cli.h"
#include "filters/destination.h"
#include "filters/lost_keys.h"
#include "filters/messages.h"
#include "filters/opening.h"
#include "filters/params.h"
#include "filters/report.h"
#include "filters/same_file.h"
#include "picture/picture.h"

#include <bloomfile.h>
#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

struct request {
    const char *path, *dest; /* dest NULL: a dry run */
    const char *svg;
    struct fold_wish wish;
    unsigned open_flags;
    struct report report;
    bool dry_run, force, discard, quiet, verbose;
};

static const struct options_entry entries[OPTIONS_MOST] = {
    OPTIONS_TITLE("Mode:"),
    OPTION(0, "dry-run", NULL, "print size and false-positive rate of each factor; write no filter",
           OPTIONS_FLAG(struct request, dry_run)),
    OPTIONS_TITLE("Filter:"),
    OPTION('p', "fpr", "RATE", "use the largest factor that keeps this false-positive rate",
           OPTIONS_RATE(struct request, wish.fpr, 0), .rival = 'h'),
    OPTION(0, "factor", "N", "use this factor",
           OPTIONS_COUNT(struct request, wish.factor, NULL, 1, BLOOMFILE_MAX_BITS), .rival = 'h'),
    OPTION(0, "max-bytes", "N", "use the smallest factor that makes DEST at most N bytes",
           OPTIONS_COUNT(struct request, wish.max_bytes, NULL, 1, BLOOMFILE_MAX_BITS),
           .rival = 'h'),
    PARAMS_ACCEPT_UNCLEAN(struct request, open_flags, "SRC"),
    OPTIONS_TITLE("Output:"),
    OPTION('f', "force", NULL,
           "replace DEST if it is SRC or an earlier copy of SRC, or has no keys; replace the --svg"
           " image",
           OPTIONS_FLAG(struct request, force)),
    LOST_KEYS_OPTION(struct request, discard),
    OPTION(0, "all", NULL, "also list factors with a rate above 50%",
           OPTIONS_FLAG(struct request, wish.all)),
    OPTION(0, "more", "N", "also show the rate after N more keys (default: as many as SRC has)",
           OPTIONS_COUNT(struct request, wish.more, NULL, 0, BLOOMFILE_MAX_BITS)),
    REPORT_OPTION(struct request, report),
    OPTION(0, "svg", "FILE", "draw rate against size as an SVG image ('-': standard output)",
           OPTIONS_STRING(struct request, svg, "the name of a file"), .value = OPTIONS_A_FILE),
    OPTIONS_TITLE("Other:"),
    PARAMS_QUIET_VERBOSE(struct request, PARAMS_QUIET_ERRORS),
    OPTIONS_END,
};

static const struct options options = {
    .usages = { "[options] SRC DEST", "--dry-run [options] SRC" },
    .operands = { { "SRC", OPTIONS_A_FILTER }, { "DEST", OPTIONS_A_FILTER } },
    .about =
        "Shrink the Bloom filter SRC by an integer factor and write it to DEST ('-': standard"
        " output). DEST has the same keys and a higher false-positive rate. The default is the"
        " largest factor that keeps the target rate of SRC; if no factor does, DEST is a copy.",
    .entries = entries,
    .notes = PARAMS_NUMBERS "; " PARAMS_RATES ".\n"
                            "Exit status: 0 on success, 2 on error or if no factor fits.",
    .examples = "  bffold --dry-run urls.bloom\n"
                "  bffold -v -p 2% urls.bloom small.bloom\n",
};

/* ------------------------------------------------------------------------------- command line */

static void check_options(const struct request *r, int names)
{
    if (names < 1 || r->path[0] == '\0')
        cli_usage("the name of the filter file is missing");
    if (names > 2)
        cli_usage("too many file names: bffold takes one SRC and one DEST");
    if (names < 2 && !r->dry_run)
        cli_usage("the name of DEST is missing (or use --dry-run)");
    if (names == 2 && r->dest[0] == '\0')
        cli_usage("the name of DEST is empty");
    if (r->discard && !r->force)
        cli_usage("--discard needs --force");
    if (report_wanted(&r->report) && (r->dry_run || destination_is_stdout(r->dest)))
        cli_usage("--report needs a file for DEST");
    if (r->svg != NULL && !r->dry_run && strcmp(r->svg, r->dest) == 0)
        cli_usage("--svg and DEST cannot both be %s", destination_name(r->dest));
    if (r->svg != NULL)
        picture_check_target(r->svg, r->force);
}

static void parse(struct request *r, int argc, char **argv)
{
    const int first = options_parse(&options, r, argc, argv);
    r->path = argc > first ? argv[first] : "";
    r->dest = argc > first + 1 ? argv[first + 1] : NULL;
    check_options(r, argc - first);
    if (r->dry_run)
        r->dest = NULL;
}

/* ------------------------------------------------------------------------------------- showing */

static void save_curve(const struct request *r, const struct fold_plan *p)
{
    struct stat source;
    size_t size;
    if (r->svg == NULL)
        return;
    char *bytes = fold_curve(p, &size);
    if (bytes == NULL)
        cli_fail(ENOMEM, "cannot write %s", r->svg);
    bool known = stat(r->path, &source) == 0;
    picture_save(r->svg, bytes, size, r->force, known ? &source : NULL);
    free(bytes);
}

static void show(const struct request *r, const struct fold_plan *p)
{
    struct cli_page page;
    save_curve(r, p);
    if (!r->dry_run || (r->svg != NULL && strcmp(r->svg, "-") == 0))
        return;
    cli_page_start(&page);
    fold_table(page.out, p);
    cli_page_print(&page);
}

static void summarize(const struct request *r, const struct fold_plan *p, uint64_t size,
                      double rate)
{
    char before[32], after[32], now[32], promised[32] = "", note[64] = "";
    if (p->info.fpr > 0)
        snprintf(note, sizeof(note), " (target %s)",
                 cli_percent(promised, sizeof(promised), p->info.fpr));
    cli_note(0, "%s: %s -> %s, factor %" PRIu64 ", rate %s%s", r->path,
             cli_bytes(before, sizeof(before), p->info.image_size),
             cli_bytes(after, sizeof(after), size), p->choices[p->chosen].factor,
             cli_percent(now, sizeof(now), rate), note);
}

/* Warns about a rate above the target, unless the user requested such a rate or was
 * warned already. */
static void warn(const struct request *r, const struct fold_plan *p,
                 const struct bloomfile_info *info, double rate)
{
    char is[32], promised[32];
    message_warnings(r->dest, info, (struct message_rate){ rate, true });
    bool is_told = r->wish.fpr > 0 || fold_plan_is_copy(p, &r->wish);
    if (rate > message_promised(info) && info->keys <= info->capacity && !is_told)
        cli_warn("%s: the false-positive rate is %s, target %s", r->dest,
                 cli_percent(is, sizeof(is), rate),
                 cli_percent(promised, sizeof(promised), message_promised(info)));
}

/* Describes the new file: a live source may have changed since the plan. */
static void report(struct request *r, const struct fold_plan *p)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    struct bloomfile_measurement measure = BLOOMFILE_MEASUREMENT_INIT;
    const struct bloomfile_fold_choice *c = &p->choices[p->chosen];
    bool summary = !r->quiet && (r->verbose || isatty(STDERR_FILENO));
    if (r->quiet && !report_wanted(&r->report))
        return;
    if (destination_is_stdout(r->dest)) {
        if (summary)
            summarize(r, p, c->image_size, c->fpr);
        return;
    }
    opening_result(r->dest, "was created", &info, &measure);
    if (report_wanted(&r->report)) {
        json *object = report_of_filter(r->dest, &info, &measure);
        r->report.file.written = r->dest;
        json_put_count(object, "source_size", p->info.image_size);
        json_put_count(object, "factor", c->factor);
        report_put(&r->report, object);
    }
    if (!r->quiet)
        warn(r, p, &info, measure.fpr);
    if (summary)
        summarize(r, p, info.image_size, measure.fpr);
}

/* ------------------------------------------------------------------------------------- folding */

static void check_loss(const struct request *r, const bloomfile_filter *f)
{
    const struct lost_keys lost = { r->dest, r->path, f, r->force, r->discard };
    lost_keys_check(&lost);
}

static void check_dest(const struct request *r, const bloomfile_filter *f)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(f, &info);
    bool same = same_file_is(r->dest, r->path);
    if (same && destination_is_stdout(r->dest))
        cli_fail(0, "cannot write to standard output: it is the filter to fold");
    if (same && info.state == BLOOMFILE_STATE_LIVE)
        cli_fail(0, "cannot create %s: it is the live filter to fold (write to another file)",
                 r->dest);
    if (r->svg != NULL)
        same_file_check_outputs(r->svg, r->dest);
    message_order = "DEST comes last: bffold SRC DEST";
    destination_check(r->dest, true);
    check_loss(r, f);
}

static void step(const struct request *r, struct cli_progress *progress, const char *doing)
{
    *progress = (struct cli_progress){ .doing = doing, .shown_ns = r->quiet ? -1 : 0 };
    cli_progress_step(progress);
}

static int fold(const struct request *r, bloomfile_filter *f, uint64_t factor)
{
    destination_hold(r->dest, f);
    destination_check_again(r->dest);
    check_loss(r, f);
    struct bloomfile_destination to = destination_of(r->dest, r->force);
    return bloomfile_fold(&to, f, factor, NULL);
}

int main(int argc, char **argv)
{
    struct request r = { .wish.more = FOLD_AS_MANY };
    struct fold_plan plan;
    struct cli_progress progress;
    bloomfile_filter *f;
    cli_start(argv[0]);
    parse(&r, argc, argv);
    cli_catch_bus_error(r.path);
    f = opening_must(r.path, r.open_flags, OPENING_ANY);
    message_if_series("fold", r.path, f);
    if (r.dry_run || !destination_is_stdout(r.dest))
        cli_check_stdout();
    report_open(&r.report, NULL, r.dest,
                r.svg != NULL && destination_is_stdout(r.svg) ? "the image" : NULL);
    if (report_wanted(&r.report) && r.svg != NULL)
        same_file_check_outputs(r.report.file.path, r.svg);
    if (!r.dry_run)
        check_dest(&r, f);
    else if (r.svg != NULL && !destination_is_stdout(r.svg))
        same_file_check_outputs(r.svg, "-");
    step(&r, &progress, "counting bits ...");
    fold_plan_make(&plan, &r.wish, r.path, f);
    cli_progress_end(&progress);
    if (r.dry_run)
        show(&r, &plan);
    fold_plan_check(&plan, &r.wish, r.quiet);
    if (!r.dry_run) {
        step(&r, &progress, "folding ...");
        uint64_t factor = plan.choices[plan.chosen].factor;
        const int error = fold(&r, f, factor);
        if (bloomfile_check(f) != 0)
            message_fail(bloomfile_check(f), "cannot fold", r.path);
        if (error != 0)
            destination_fail(r.dest, error);
        cli_progress_end(&progress);
        report(&r, &plan);
        show(&r, &plan);
    }
    bloomfile_close(f);
    report_close(&r.report);
    free(plan.choices);
    cli_close_stdout();
    return 0;
}
