/* SPDX-License-Identifier: MIT
 * bfuniq - print each line the first time it appears; the input need not be sorted */
#include "bfuniq/repeated.h"
#include "bfuniq/seen.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "cli/names.h"
#include "filters/key_kind.h"
#include "filters/params.h"
#include "filters/report.h"
#include "filters/same_file.h"
#include "keys/keys.h"
#include "keys/relay.h"

#include <bloomfile_live.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PIECE_SIZE = 1 << 18, /* stays in a core's cache together with its keys and digests */
    MOST_GENERATIONS = 1000
};
struct request {
    struct names inputs;
    struct keys_options keys;
    struct seen seen;
    uint64_t generations;
    const char *every;
    unsigned threads;
    bool fixed, repeated, count, stats, quiet;
    struct repeated others; /* dropped lines */
    struct lost lost;       /* new lines among the dropped lines */
    struct report report;
    uint64_t taken, new_ones; /* keys */
};

static void take_seed(void *filter_plan, char *value)
{
    struct filter_plan *plan = filter_plan;
    plan->params.seed = params_seed(value);
    plan->has_seed = strcmp(value, PARAMS_RANDOM) != 0; /* random: only for a new file */
}

static const struct options_entry entries[OPTIONS_MOST] = {
    OPTIONS_TITLE("Mode:"),
    OPTION('d', "repeated", NULL, "print the repeated lines instead of the new lines",
           OPTIONS_FLAG(struct request, repeated)),
    OPTION(0, "generations", "G", "forget old keys; keep the newest G generations; needs --every",
           OPTIONS_COUNT(struct request, generations, NULL, 2, MOST_GENERATIONS)),
    OPTION(0, "every", "EVERY", PERIOD_HELP, OPTIONS_STRING(struct request, every, NULL),
           .value = OPTIONS_A_TEXT),
    OPTIONS_TITLE("Input:"),
    KEYS_ALL_OPTIONS(struct request, keys),
    NAMES_FROM_OPTION(struct request, inputs),
    OPTIONS_TITLE("Filter:"),
    OPTION('n', "capacity", "N",
           "initial room for N distinct keys (default 1M; with --every TIME 10M)",
           OPTIONS_COUNT(struct request, seen.plan.params.capacity, NULL, 1, BLOOMFILE_MAX_BITS)),
    OPTION('p', "fpr", "RATE", "largest fraction of new lines to drop (default 0.1%)",
           OPTIONS_RATE(struct request, seen.plan.params.fpr, 0)),
    OPTION('l', "layout", "LAYOUT", "blocked (default, fastest) or classic (slightly smaller)",
           OPTIONS_WORD(struct request, seen.plan.params.layout, params_plain_layout)),
    PARAMS_SEED(struct request, seen.plan, take_seed),
    OPTION(
        0, "fixed", NULL,
        "use one filter of -n keys (default 10M) that does not grow; takes half the memory or less",
        OPTIONS_FLAG(struct request, fixed)),
    OPTION(0, "filter", "FILE",
           "keep the filter in FILE, for later runs and for other processes at the same time",
           OPTIONS_STRING(struct request, seen.path, "the name of a file"),
           .value = OPTIONS_A_FILTER),
    PARAMS_ACCEPT_UNCLEAN(struct request, seen.plan.open_flags, "FILE"),
    OPTION(0, "overfull", NULL, "with --fixed: " PARAMS_OVERFULL,
           OPTIONS_BITS(struct request, seen.plan.open_flags, BLOOMFILE_OPEN_OVER_CAPACITY)),
    OPTIONS_TITLE("Output:"),
    OPTION('c', "count", NULL, "print only the number of lines, new lines and repeated lines",
           OPTIONS_FLAG(struct request, count)),
    OPTION(0, "repeated-to", "FILE", "write the repeated lines to FILE; overwrite it if it exists",
           OPTIONS_STRING(struct request, others.file.path, "the name of a file"),
           .value = OPTIONS_A_FILE),
    OPTION(0, "stats", NULL,
           "report the counts, and an estimate of wrongly dropped lines, on standard error",
           OPTIONS_FLAG(struct request, stats)),
    REPORT_OPTION(struct request, report),
    OPTIONS_TITLE("Resources:"),
    PARAMS_THREADS(struct request, threads),
    OPTIONS_TITLE("Other:"),
    OPTION('q', "quiet", NULL, PARAMS_QUIET_KEYS, OPTIONS_FLAG(struct request, quiet)),
    OPTIONS_END,
};

static const struct options options = {
    .usages = { "[options] [INPUT...]" },
    .operands = { { "INPUT", OPTIONS_A_FILE } },
    .about =
        "Print each line of the INPUTs, or of standard input, the first time it appears, in input"
        " order. A Bloom filter remembers lines in a few bytes each. It mistakes at most"
        " the fraction RATE (-p) of the new lines for repeated lines, and drops them.",
    .entries = entries,
    .notes = PARAMS_NUMBERS "; " PARAMS_RATES ".\n"
                            "Exit status: 0 if all lines were processed, 2 on error.",
    .examples = "  bfuniq urls.txt > distinct-urls.txt\n"
                "  bfuniq --stats --repeated-to again.log app.log > once.log\n"
                "  crawl | bfuniq --filter seen.bloom | fetch\n"
                "  tail -F log | bfuniq --generations 3 --every 10min\n",
};

/* --------------------------------------------------------------------------------- command line */

static void check_memory_options(struct request *r)
{
    struct filter_plan *plan = &r->seen.plan;
    uint64_t keys = 0;
    const bool forgets = r->generations > 0;
    if ((plan->open_flags & BLOOMFILE_OPEN_ACCEPT_UNCLEAN) != 0 && r->seen.path == NULL)
        cli_usage("--accept-unclean needs --filter");
    if (forgets != (r->every != NULL))
        cli_usage("--generations and --every must be used together");
    if (r->fixed && forgets)
        cli_usage("--fixed and --generations are mutually exclusive");
    if ((plan->open_flags & BLOOMFILE_OPEN_OVER_CAPACITY) != 0 && !r->fixed)
        cli_usage("--overfull needs --fixed: other filters cannot be over capacity");
    if (forgets)
        period_take(r->every, &keys, &plan->params.period);
    if (keys > 0 && plan->params.capacity > 0)
        cli_usage("--every %s sets the capacity of a generation: leave out -n/--capacity, or set "
                  "--every to a time",
                  r->every);
    plan->has_kind = forgets || r->fixed;
    plan->params.series = r->fixed ? 0 : forgets ? (uint32_t)r->generations : BLOOMFILE_SERIES_GROW;
    if (keys > 0)
        plan->params.capacity = keys;
}

static void parse(struct request *r, int argc, char **argv)
{
    const int first = options_parse(&options, r, argc, argv);
    r->seen.quiet = r->quiet;
    if (r->others.file.path != NULL && strcmp(r->others.file.path, "-") == 0)
        cli_usage("--repeated-to takes the name of a file: standard output has the new lines");
    if (r->repeated && r->others.file.path != NULL)
        cli_usage("-d/--repeated and --repeated-to are mutually exclusive");
    check_memory_options(r);
    keys_options_check(&r->keys);
    key_kind_record(&r->seen.plan.params, &r->keys);
    names_read(&r->inputs, argv + first, argc - first);
}

/* --------------------------------------------------------------------------------------- output */

static void check_output(bool good)
{
    if (good)
        return;
    if (errno == EPIPE && interrupt_signal == SIGPIPE) {
        relay_halt();
        seen_close();
        interrupt_die();
    }
    cli_fail(errno, "cannot write to standard output");
}

/* The estimated number of new lines that were dropped. */
static double count_lost(struct request *r)
{
    return fmin(lost_lines(&r->lost, r->seen.f), (double)(r->taken - r->new_ones));
}

/* Prints the counts, with an estimate of new lines that were dropped: these are missing
 * from the output. */
static void tell_stats(struct request *r, const char *counts)
{
    const uint64_t repeated = r->taken - r->new_ones;
    if (repeated > 0)
        cli_note(0, "%s (about %.0f of them new, by the false-positive rate)", counts,
                 count_lost(r));
    else
        cli_note(0, "%s", counts);
}

static void put_report(struct request *r)
{
    if (!report_wanted(&r->report))
        return;
    json *object = json_new();
    json_put_count(object, "keys_read", r->taken);
    json_put_count(object, "new", r->new_ones);
    json_put_count(object, "repeated", r->taken - r->new_ones);
    json_put_double(object, "lost_estimate", count_lost(r));
    report_put(&r->report, object);
    report_close(&r->report);
}

static void tell_counts(struct request *r)
{
    const char *what = keys_are_lines(&r->keys) ? "line" : "key";
    char text[128];
    snprintf(text, sizeof(text), "%" PRIu64 " %s%s, %" PRIu64 " new, %" PRIu64 " repeated",
             r->taken, what, cli_s(r->taken), r->new_ones, r->taken - r->new_ones);
    if (r->count) {
        cli_print("%s\n", text);
        errno = cli_flush_stdout();
        check_output(errno == 0);
    }
    if (r->stats)
        tell_stats(r, text);
}

/* Ends the program before any output if an input is missing or a folder, or is a file that cannot
 * be read or is a filter. */
static void check_inputs(const struct request *r)
{
    struct keys_options strict = r->keys;
    strict.keep_going = false;
    keys_free(keys_new(&strict, r->inputs.list, r->inputs.count));
    for (int i = 0; i < r->inputs.count && !r->keys.as_is; i++) {
        if (side_file_is_filter(r->inputs.list[i]))
            cli_fail(0,
                     "cannot read %s: it is a filter, not a list of keys (add --filter before "
                     "it to use it; --as-is uses its bytes as keys)",
                     r->inputs.list[i]);
    }
}

/* Checks the outputs before any line is marked as seen, because a marked line must be printed. */
static void check_output_file(struct request *r)
{
    int mode = fcntl(STDOUT_FILENO, F_GETFL);
    if (mode >= 0 && (mode & O_ACCMODE) == O_RDONLY)
        cli_fail(EBADF, "cannot write to standard output");
    same_file_check_names("-", &r->inputs);
    if (r->seen.path != NULL)
        same_file_check_names(r->seen.path, &r->inputs);
    report_open(&r->report, &r->inputs, r->seen.path,
                r->count && report_is_stdout(&r->report) ? NULL : "the lines");
    if (report_wanted(&r->report) && r->seen.path != NULL)
        side_file_check_name(&r->report.file, r->seen.path);
    if (r->others.file.path == NULL)
        return;
    if (report_wanted(&r->report))
        same_file_check_outputs(r->report.file.path, r->others.file.path);
    same_file_check_names(r->others.file.path, &r->inputs);
    same_file_check_outputs(r->others.file.path, "-");
    if (r->seen.path != NULL) {
        same_file_check_outputs(r->others.file.path, r->seen.path);
        side_file_check_name(&r->others.file, r->seen.path);
    }
}

/* ----------------------------------------------------------------------------------------- work */

/* Finds lines seen before. A single thread skips this, because seen_add() finds them anyway. */
static void find_seen(void *request, struct batch *b)
{
    const struct request *r = request;
    if (r->threads > 1)
        seen_ask(&r->seen, b->digests, b->count, b->chosen);
    else if (b->count > 0)
        memset(b->chosen, true, b->count);
}

/* Adds keys from `first` on, in input order, so that the same lines are new in every run. Returns
 * how many were processed. */
static size_t take_keys(struct request *r, struct batch *b, size_t first)
{
    size_t left = b->count - first, n = left < SEEN_BATCH ? left : SEEN_BATCH;
    const uint64_t before = r->new_ones;
    n = seen_add(&r->seen, b->digests + first, n, b->chosen + first);
    for (size_t i = first; i < first + n; i++) {
        r->new_ones += b->chosen[i];
        b->chosen[i] = b->chosen[i] != r->repeated;
    }
    r->taken += n;
    lost_watch(&r->lost, r->seen.f, r->new_ones - before);
    return n;
}

static void write_lines(struct request *r, struct batch *b, size_t first, size_t last)
{
    repeated_take(&r->others, b, first, last);
    if (!r->count) {
        batch_gather(b, first, last);
        check_output(batch_write(b));
    }
    repeated_write(&r->others);
}

/* Prints the new lines of a batch before it waits for more, and before anything else can fail. */
static void print_new(void *request, struct batch *b)
{
    struct request *r = request;
    if (b->count > 0 || b->piece.is_first_header || !split_is_broken(&b->split))
        side_file_begin(&r->others.file);
    if (!r->count)
        check_output(batch_write_header(b, STDOUT_FILENO));
    repeated_write_header(&r->others, b);
    for (size_t first = 0, n; first < b->count; first += n) {
        n = take_keys(r, b, first);
        write_lines(r, b, first, first + n);
        seen_watch(&r->seen, r->taken);
    }
    if (split_is_broken(&b->split))
        tell_counts(r); /* earlier lines are printed; the caller ends the program */
}

static void filter_lines(struct request *r, struct keys *input)
{
    bool silent = r->quiet || (!r->count && isatty(STDOUT_FILENO));
    struct cli_progress progress = { .total = keys_total(input), .shown_ns = silent ? -1 : 0 };
    relay_run(&(struct relay){ .input = input,
                               .seed = seen_seed(&r->seen),
                               .threads = r->threads,
                               .progress = &progress,
                               .job = r,
                               .work = find_seen,
                               .finish = print_new });
    cli_progress_end(&progress);
    keys_tell_skipped(input, r->taken, r->quiet);
}

int main(int argc, char **argv)
{
    static struct request r = {
        .keys = { .keep_going = true, .stoppable = true, .piece_size = PIECE_SIZE },
        .others.file.what = "repeated lines",
        .seen.plan.params = { .struct_size = sizeof(struct bloomfile_params) }
    };
    cli_start(argv[0]);
    r.threads = params_default_threads();
    parse(&r, argc, argv);
    check_inputs(&r);
    check_output_file(&r);
    if (r.seen.path != NULL && same_file_is_filter("-", r.seen.path))
        cli_fail(0, "cannot write to standard output: it is the filter");
    cli_check_stdout();
    side_file_open(&r.others.file);
    interrupt_catch();
    seen_open(&r.seen);
    if (r.seen.path != NULL)
        key_kind_check(r.seen.path, r.seen.f, &r.keys, KEY_KIND_ADD);
    key_kind_fold(r.seen.f, &r.keys);
    seen_watch(&r.seen, 0);
    lost_begin(&r.lost, r.seen.f);

    struct keys *input = keys_new(&r.keys, r.inputs.list, r.inputs.count);
    filter_lines(&r, input);
    tell_counts(&r);
    if (keys_errors(input) == 0)
        side_file_begin(&r.others.file);
    repeated_close(&r.others);
    const bool whole = keys_errors(input) == 0 && interrupt_signal == 0;
    const bool trouble = !seen_finish(&r.seen, r.taken, whole) || keys_errors(input) > 0;
    if (!trouble)
        put_report(&r);
    seen_close();
    if (interrupt_signal != 0)
        interrupt_die();
    cli_close_stdout();

    keys_free(input);
    names_free(&r.inputs);
    return trouble ? CLI_ERROR : 0;
}
