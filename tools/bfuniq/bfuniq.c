/* SPDX-License-Identifier: MIT
 *
 * bfuniq - print each line the first time it is seen, in whatever order
 */
#include "bfuniq/seen.h"
#include "shared/cli.h"
#include "shared/framing.h"
#include "shared/keys.h"
#include "shared/output.h"
#include "shared/params.h"
#include "shared/relay.h"
#include "shared/stop.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PIECE_SIZE = 1 << 18, /* stays in the cache of a core with its keys and digests */
    MOST_GENERATIONS = 1000
};
enum {
    OPTION_VERSION = 0x100,
    OPTION_FILTER,
    OPTION_ACCEPT_UNCLEAN,
    OPTION_GENERATIONS,
    OPTION_EVERY,
    OPTION_OVERFULL
};

struct request {
    char *const *inputs;
    int inputs_count;
    struct keys_options keys;
    struct seen seen;
    uint64_t every;
    unsigned threads;
    bool repeated, count, quiet;
    uint64_t taken, new_ones; /* keys */
};

static const char help[] =
    "usage: bfuniq [options] [INPUT...]\n"
    "Print each line of the INPUTs, or of standard input, the first time it is seen.\n"
    "A Bloom filter remembers the lines, in a small and fixed amount of memory; a few\n"
    "new lines are mistaken for repeated ones, at most RATE of them.\n"
    "\n"
    "Keys:\n"
    "  -0, --null            keys end with a zero byte, not with a newline\n"
    "  -x, --fixed N         keys are binary records of N bytes\n"
    "      --crlf            a carriage return before a newline is no part of the key\n"
    "\n"
    "Output:\n"
    "  -d, --repeated        print the others instead: each line that was seen before\n"
    "  -c, --count           print no lines but, at the end, how many there were\n"
    "  -q, --quiet           no progress; only errors, and warnings that keys may be\n"
    "                        lost or never match\n"
    "\n"
    "Memory:\n"
    "  -n, --capacity N      room for N different keys (default 10M)\n"
    "  -p, --fpr RATE        false-positive rate, then (default 0.001)\n"
    "  -l, --layout NAME     blocked (default, fastest) or classic (smallest)\n"
    "  -s, --seed N          seed of the hash (default 0); 'random' for hostile keys\n"
    "      --overfull        go on with more than twice RATE; without it, that ends\n"
    "                        the program\n"
    "      --filter FILE     what was seen is kept in FILE, made if missing: the next\n"
    "                        run goes on from there, and others at the same time\n"
    "      --accept-unclean  even if the machine, or a writer in a sync, died while\n"
    "                        FILE was written\n"
    "      --generations G   forget keys again, after the last G-1 to G periods\n"
    "      --every N         a period is N new keys; --generations needs it, not -n\n"
    "\n"
    "Other:\n"
    "  -j, --threads N       work with N threads (default: one a processor, up to\n"
    "                        16); the output is the same\n"
    "  -h, --help            print this and exit\n"
    "      --version         print the version and exit\n"
    "\n"
    "N is a number such as 5000, 80k, 10M, 2Gi or 1e9.\n"
    "\n"
    "Examples:\n"
    "  bfuniq -n 100M urls.txt > different-urls.txt\n"
    "  crawl | bfuniq --filter seen.bloom | fetch\n"
    "  tail -F log | bfuniq --generations 3 --every 1M\n";

/* --------------------------------------------------------------------------------- command line */

static enum bloomfile_layout layout(const char *name)
{
    if (strcmp(name, "blocked") == 0)
        return BLOOMFILE_BLOCKED;
    if (strcmp(name, "classic") == 0)
        return BLOOMFILE_CLASSIC;
    cli_usage("-l/--layout takes blocked or classic, not '%s'", name);
}

static void take_memory_option(struct request *r, int option, const char *value)
{
    struct filter_plan *plan = &r->seen.plan;
    switch (option) {
    case 'n':
        plan->params.capacity = params_count("-n/--capacity", value, 1, BLOOMFILE_MAX_BITS);
        break;
    case 'p':
        plan->params.fpr = params_rate(value);
        break;
    case 'l':
        plan->params.layout = layout(value);
        break;
    case 's':
        plan->params.seed = params_seed(value);
        plan->has_seed = strcmp(value, "random") != 0; /* random: of a file that is made now */
        break;
    case OPTION_FILTER:
        r->seen.path = value;
        break;
    case OPTION_ACCEPT_UNCLEAN:
        plan->accept_unclean = true;
        break;
    case OPTION_GENERATIONS:
        plan->generations = (unsigned)params_count("--generations", value, 2, MOST_GENERATIONS);
        break;
    case OPTION_EVERY:
        r->every = params_count("--every", value, 1, BLOOMFILE_MAX_BITS);
        break;
    case OPTION_OVERFULL:
        r->seen.overfull = true;
        break;
    }
}

static void take_option(struct request *r, int option, const char *value)
{
    switch (option) {
    case 'd':
        r->repeated = true;
        break;
    case 'c':
        r->count = true;
        break;
    case 'j':
        r->threads = params_threads(value);
        break;
    case 'q':
        r->quiet = r->seen.quiet = true;
        break;
    case 'h':
        cli_help(help);
    case OPTION_VERSION:
        cli_version();
    default:
        take_memory_option(r, option, value);
    }
}

static void check_memory_options(struct request *r)
{
    struct filter_plan *plan = &r->seen.plan;
    if (r->seen.path != NULL && r->seen.path[0] == '\0')
        cli_usage("--filter takes the name of a file");
    if (plan->accept_unclean && r->seen.path == NULL)
        cli_usage("--accept-unclean needs --filter");
    if ((plan->generations > 0) != (r->every > 0))
        cli_usage("--generations and --every need one another");
    if (plan->generations == 0)
        return;
    if (r->seen.overfull)
        cli_usage("generations are never overfull: --overfull is for one filter");
    if (plan->params.capacity > 0)
        cli_usage("-n/--capacity and --generations exclude one another: --every is the capacity");
    plan->params.capacity = r->every;
    plan->params.fpr /= plan->generations;
}

static void parse(struct request *r, int argc, char **argv)
{
    static const struct option options[] = {
        { "null", no_argument, NULL, '0' },
        { "fixed", required_argument, NULL, 'x' },
        { "crlf", no_argument, NULL, KEYS_OPTION_CRLF },
        { "repeated", no_argument, NULL, 'd' },
        { "count", no_argument, NULL, 'c' },
        { "quiet", no_argument, NULL, 'q' },
        { "threads", required_argument, NULL, 'j' },
        { "capacity", required_argument, NULL, 'n' },
        { "fpr", required_argument, NULL, 'p' },
        { "layout", required_argument, NULL, 'l' },
        { "seed", required_argument, NULL, 's' },
        { "filter", required_argument, NULL, OPTION_FILTER },
        { "accept-unclean", no_argument, NULL, OPTION_ACCEPT_UNCLEAN },
        { "generations", required_argument, NULL, OPTION_GENERATIONS },
        { "every", required_argument, NULL, OPTION_EVERY },
        { "overfull", no_argument, NULL, OPTION_OVERFULL },
        { "help", no_argument, NULL, 'h' },
        { "version", no_argument, NULL, OPTION_VERSION },
        { NULL, 0, NULL, 0 },
    };
    int option;
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":" KEYS_SHORT_OPTIONS "dcqn:p:l:s:j:h", options,
                                 NULL)) != -1) {
        if (option == '?' || option == ':')
            cli_bad_option(option, argv);
        if (!keys_take_option(&r->keys, option, optarg))
            take_option(r, option, optarg);
    }
    check_memory_options(r);
    framing_record(&r->seen.plan.params, &r->keys);
    r->inputs = argv + optind;
    r->inputs_count = argc - optind;
}

/* --------------------------------------------------------------------------------------- output */

static void check_output(bool good)
{
    if (good)
        return;
    if (errno == EPIPE && stop_signal == SIGPIPE) {
        relay_halt();
        seen_close();
        stop_die();
    }
    cli_fail(errno, "cannot write to standard output");
}

static void print_counts(const struct request *r)
{
    const char *what = r->keys.form == KEYS_LINES ? "line" : "key";
    int n = printf("%" PRIu64 " %s%s, %" PRIu64 " new, %" PRIu64 " repeated\n", r->taken, what,
                   cli_s(r->taken), r->new_ones, r->taken - r->new_ones);
    check_output(n > 0 && fflush(stdout) == 0);
}

/* Never marks a line as seen that cannot be printed. */
static void check_output_file(const struct request *r)
{
    int mode = fcntl(STDOUT_FILENO, F_GETFL);
    if (mode >= 0 && (mode & O_ACCMODE) == O_RDONLY)
        cli_fail(EBADF, "cannot write to standard output");
    output_check_inputs("-", r->inputs, r->inputs_count);
    if (r->seen.path != NULL)
        output_check_inputs(r->seen.path, r->inputs, r->inputs_count);
}

/* ----------------------------------------------------------------------------------------- work */

/* A single thread learns all this when it adds. */
static void find_seen(void *request, struct batch *b)
{
    const struct request *r = request;
    if (r->threads > 1)
        seen_ask(&r->seen, b->digests, b->count, b->chosen);
    else
        memset(b->chosen, true, b->count);
}

/* Adds the first of the keys from `first` on in their order, so that it is always the same ones
 * that are new. Returns how many. */
static size_t take_keys(struct request *r, struct batch *b, size_t first)
{
    size_t left = b->count - first, n = left < SEEN_BATCH ? left : SEEN_BATCH;
    n = seen_add(&r->seen, b->digests + first, n, b->chosen + first);
    for (size_t i = first; i < first + n; i++) {
        r->new_ones += b->chosen[i];
        b->chosen[i] = b->chosen[i] != r->repeated;
    }
    r->taken += n;
    return n;
}

/* Lines go out before more of them are waited for, and before anything else can fail. */
static void print_new(void *request, struct batch *b)
{
    struct request *r = request;
    for (size_t first = 0, n; first < b->count; first += n) {
        n = take_keys(r, b, first);
        if (!r->count) {
            batch_gather(b, first, first + n);
            check_output(batch_write(b));
        }
        seen_watch(&r->seen, r->taken);
    }
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
}

int main(int argc, char **argv)
{
    static struct request r = {
        .keys = { .keep_going = true, .stoppable = true, .piece_size = PIECE_SIZE },
        .seen.plan.params = BLOOMFILE_PARAMS_INIT
    };
    cli_start(argv[0]);
    r.threads = params_default_threads();
    parse(&r, argc, argv);
    check_output_file(&r);
    if (r.seen.path != NULL && output_is("-", r.seen.path))
        cli_fail(0, "cannot write to standard output: it is the filter");
    stop_catch();
    seen_open(&r.seen);
    if (r.seen.path != NULL)
        framing_compare(r.seen.path, r.seen.newest, &r.keys);
    seen_watch(&r.seen, 0);

    struct keys *input = keys_new(&r.keys, r.inputs, r.inputs_count);
    filter_lines(&r, input);
    if (r.count)
        print_counts(&r);
    seen_finish(&r.seen);
    seen_close();
    if (stop_signal != 0)
        stop_die();
    cli_close_stdout();

    bool trouble = keys_errors(input) > 0;
    keys_free(input);
    return trouble ? CLI_TROUBLE : 0;
}
