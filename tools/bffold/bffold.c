/* SPDX-License-Identifier: MIT
 *
 * bffold - make a filter smaller, by as much as its false-positive rate allows
 */
#include "bffold/fold.h"
#include "picture/picture.h"
#include "shared/cli.h"
#include "shared/output.h"
#include "shared/params.h"
#include "shared/say.h"
#include "shared/sink.h"

#include <bloomfile.h>
#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    OPTION_VERSION = 0x100,
    OPTION_FACTOR,
    OPTION_MAX_BYTES,
    OPTION_MORE,
    OPTION_DRY_RUN,
    OPTION_ALL,
    OPTION_SVG,
    OPTION_ACCEPT_UNCLEAN
};

struct request {
    const char *path, *dest; /* dest NULL: a dry run */
    const char *svg;
    struct fold_wish wish;
    unsigned open_flags;
    bool dry_run, force, quiet, verbose;
};

static const char help[] =
    "usage: bffold [options] SRC DEST\n"
    "       bffold --dry-run [options] SRC\n"
    "Fold the Bloom filter SRC into the smaller DEST, which has the same keys: by the\n"
    "greatest factor that keeps the false-positive rate which SRC promises. Where no\n"
    "factor does, DEST is a copy.\n"
    "\n"
    "How far:\n"
    "  -p, --fpr RATE      by the greatest factor that keeps this rate\n"
    "      --factor N      by this factor\n"
    "      --max-bytes N   by the smallest factor that makes DEST so small\n"
    "\n"
    "What there is to choose from:\n"
    "      --dry-run       print each factor, with the size and the rate it leads to\n"
    "      --all           useless factors too, with a rate above 50 %\n"
    "      --svg FILE      draw rate against size ('-': on standard output)\n"
    "      --more N        tell the rate after N more keys (default: as many again)\n"
    "\n"
    "Other:\n"
    "      --accept-unclean\n"
    "                      even if the machine, or a writer in a sync, died while\n"
    "                      SRC was written\n"
    "  -f, --force         replace DEST, which may be SRC, and the image\n"
    "  -q, --quiet         errors only: no progress, summary or warnings\n"
    "  -v, --verbose       print the summary even if standard error is no terminal\n"
    "  -h, --help          print this and exit\n"
    "      --version       print the version and exit\n"
    "\n"
    "DEST '-' is standard output. N is a number such as 5000, 80k, 10M, 2Gi or 1e9.\n"
    "Rates are computed from all bits, exactly. The exit status is 2 if no factor\n"
    "will do, or for other trouble.\n"
    "\n"
    "Examples:\n"
    "  bffold --dry-run urls.bloom\n"
    "  bffold -v -p 0.02 urls.bloom small.bloom\n";

/* ------------------------------------------------------------------------------- command line */

static void take_option(struct request *r, int option, const char *value)
{
    switch (option) {
    case 'p':
        r->wish.fpr = params_rate(value);
        break;
    case OPTION_FACTOR:
        r->wish.factor = params_count("--factor", value, 1, BLOOMFILE_MAX_BITS);
        break;
    case OPTION_MAX_BYTES:
        r->wish.max_bytes = params_count("--max-bytes", value, 1, BLOOMFILE_MAX_BITS);
        break;
    case OPTION_MORE:
        r->wish.more = params_count("--more", value, 0, BLOOMFILE_MAX_BITS);
        break;
    case OPTION_DRY_RUN:
        r->dry_run = true;
        break;
    case OPTION_ALL:
        r->wish.all = true;
        break;
    case OPTION_SVG:
        r->svg = value;
        break;
    case OPTION_ACCEPT_UNCLEAN:
        r->open_flags |= BLOOMFILE_ACCEPT_UNCLEAN;
        break;
    case 'f':
        r->force = true;
        break;
    case 'q':
        r->quiet = true;
        r->verbose = false;
        break;
    case 'v':
        r->verbose = true;
        r->quiet = false;
        break;
    case 'h':
        cli_help(help);
    case OPTION_VERSION:
        cli_version();
    }
}

static void check_options(const struct request *r, int names)
{
    if ((r->wish.fpr > 0) + (r->wish.factor > 0) + (r->wish.max_bytes > 0) > 1)
        cli_usage("--fpr, --factor and --max-bytes exclude one another");
    if (names < 1 || r->path[0] == '\0')
        cli_usage("the name of the filter file is missing");
    if (names > 2)
        cli_usage("one SRC is folded, to one DEST");
    if (names < 2 && !r->dry_run)
        cli_usage("the name of DEST is missing (--dry-run needs none)");
    if (names == 2 && r->dest[0] == '\0')
        cli_usage("the name of DEST is empty");
    if (r->svg != NULL && !r->dry_run && strcmp(r->svg, r->dest) == 0)
        cli_usage("--svg and DEST cannot both be %s", sink_name(r->dest));
    if (r->svg != NULL)
        picture_check_target(r->svg, r->force);
}

static void parse(struct request *r, int argc, char **argv)
{
    static const struct option options[] = {
        { "fpr", required_argument, NULL, 'p' },
        { "factor", required_argument, NULL, OPTION_FACTOR },
        { "max-bytes", required_argument, NULL, OPTION_MAX_BYTES },
        { "more", required_argument, NULL, OPTION_MORE },
        { "dry-run", no_argument, NULL, OPTION_DRY_RUN },
        { "all", no_argument, NULL, OPTION_ALL },
        { "svg", required_argument, NULL, OPTION_SVG },
        { "accept-unclean", no_argument, NULL, OPTION_ACCEPT_UNCLEAN },
        { "force", no_argument, NULL, 'f' },
        { "quiet", no_argument, NULL, 'q' },
        { "verbose", no_argument, NULL, 'v' },
        { "help", no_argument, NULL, 'h' },
        { "version", no_argument, NULL, OPTION_VERSION },
        { NULL, 0, NULL, 0 },
    };
    int option;
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":p:fqvh", options, NULL)) != -1) {
        if (option == '?' || option == ':')
            cli_bad_option(option, argv);
        take_option(r, option, optarg);
    }
    r->path = argc > optind ? argv[optind] : "";
    r->dest = argc > optind + 1 ? argv[optind + 1] : NULL;
    check_options(r, argc - optind);
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
        snprintf(note, sizeof(note), " (%s promised)",
                 cli_percent(promised, sizeof(promised), p->info.fpr));
    cli_warn(0, "%s: %s -> %s, factor %" PRIu64 ", rate %s%s", r->path,
             cli_bytes(before, sizeof(before), p->info.image_size),
             cli_bytes(after, sizeof(after), size), p->choices[p->chosen].factor,
             cli_percent(now, sizeof(now), rate), note);
}

/* A user who asked for a rate above the promised one, or was told of it, is not warned. */
static void warn(const struct request *r, const struct fold_plan *p,
                 const struct bloomfile_info *info, double rate)
{
    char is[32], promised[32];
    say_warnings(r->dest, info, (struct say_rate){ rate, true });
    bool is_told = r->wish.fpr > 0 || fold_plan_is_copy(p, &r->wish);
    if (rate > say_promised(info) && info->keys <= info->capacity && !is_told)
        cli_warn(0, "%s: the false-positive rate is %s, not the %s promised", r->dest,
                 cli_percent(is, sizeof(is), rate),
                 cli_percent(promised, sizeof(promised), say_promised(info)));
}

/* Opens what was made as any reader would, and tells about it: a live source may have changed since
 * the plan. */
static void report(const struct request *r, const struct fold_plan *p)
{
    bloomfile *f;
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    struct bloomfile_measurement measure = BLOOMFILE_MEASUREMENT_INIT;
    const struct bloomfile_fold_choice *c = &p->choices[p->chosen];
    bool summary = r->verbose || isatty(STDERR_FILENO);
    if (r->quiet)
        return;
    if (sink_is_stdout(r->dest)) {
        if (summary)
            summarize(r, p, c->image_size, c->fpr);
        return;
    }
    int error = bloomfile_open(&f, r->dest, BLOOMFILE_APP_HASH);
    if (error != 0)
        cli_fail(error, "%s is folded, but cannot be opened", r->dest);
    bloomfile_get_info(f, &info);
    bloomfile_measure(f, &measure); /* fails for a wrong struct_size only */
    bloomfile_close(f);
    warn(r, p, &info, measure.fpr);
    if (summary)
        summarize(r, p, info.image_size, measure.fpr);
}

/* ------------------------------------------------------------------------------------- folding */

static void check_dest(const struct request *r, const bloomfile *f)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(f, &info);
    bool same = output_is(r->dest, r->path);
    if (same && sink_is_stdout(r->dest))
        cli_fail(0, "cannot write to standard output: it is the filter to fold");
    if (same && info.state == BLOOMFILE_LIVE)
        cli_fail(0, "cannot create %s: it is the live filter to fold (seal it first)", r->dest);
    sink_check(r->dest, r->force);
    if (r->svg != NULL)
        output_check_outputs(r->svg, r->dest);
}

static void step(const struct request *r, struct cli_progress *progress, const char *doing)
{
    *progress = (struct cli_progress){ .doing = doing, .shown_ns = r->quiet ? -1 : 0 };
    cli_progress_step(progress);
}

static int fold(const struct request *r, const bloomfile *f, uint64_t factor)
{
    if (sink_is_stdout(r->dest))
        return bloomfile_fold_fd(STDOUT_FILENO, f, factor, NULL);
    return bloomfile_fold(r->dest, f, factor, sink_flags(r->force));
}

int main(int argc, char **argv)
{
    struct request r = { .wish.more = FOLD_AS_MANY };
    struct fold_plan plan;
    struct cli_progress progress;
    bloomfile *f;
    cli_start(argv[0]);
    parse(&r, argc, argv);
    cli_catch_bus_error(r.path);
    int error = bloomfile_open(&f, r.path, BLOOMFILE_APP_HASH | r.open_flags);
    if (error != 0)
        say_cannot_open(r.path, error);
    if (!r.dry_run)
        check_dest(&r, f);
    step(&r, &progress, "counting bits ...");
    fold_plan_make(&plan, &r.wish, r.path, f);
    cli_progress_end(&progress);
    show(&r, &plan);
    fold_plan_check(&plan, &r.wish, r.quiet);
    if (!r.dry_run) {
        step(&r, &progress, "folding ...");
        uint64_t factor = plan.choices[plan.chosen].factor;
        error = fold(&r, f, factor);
        if (bloomfile_status(f) != 0)
            cli_fail(bloomfile_status(f), "cannot fold %s", r.path);
        if (error != 0)
            sink_fail(r.dest, error);
        cli_progress_end(&progress);
        report(&r, &plan);
    }
    bloomfile_close(f);
    free(plan.choices);
    cli_close_stdout();
    return 0;
}
