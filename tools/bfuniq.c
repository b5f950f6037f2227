/* SPDX-License-Identifier: MIT
 *
 * bfuniq - print each line the first time it is seen, in whatever order
 */
#include "cli.h"
#include "keys.h"
#include "params.h"
#include "stop.h"
#include "uniq_seen.h"

#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    OUTPUT_SIZE = 1 << 18,
    MOST_GENERATIONS = 1000
};
enum {
    OPTION_HELP = 0x100,
    OPTION_VERSION,
    OPTION_FILTER,
    OPTION_ACCEPT_UNCLEAN,
    OPTION_GENERATIONS,
    OPTION_EVERY
};

struct request {
    char *const *inputs;
    int inputs_count;
    struct keys_options keys;
    struct seen seen;
    uint64_t every;
    bool repeated, count, quiet;
};

struct counts {
    uint64_t keys, new_ones;
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
    "  -q, --quiet           errors only: no progress, no warnings\n"
    "\n"
    "Memory:\n"
    "  -n, --capacity N      room for N different keys (default 10M)\n"
    "  -p, --fpr RATE        false-positive rate, then (default 0.001)\n"
    "  -l, --layout NAME     blocked (default, fastest) or classic (smallest)\n"
    "  -s, --seed N          seed of the hash (default 0), or 'random' for hostile keys\n"
    "      --filter FILE     what was seen is kept in FILE, made if missing: the next\n"
    "                        run goes on from there, and others at the same time\n"
    "      --accept-unclean  use FILE even if the machine went down while it was in use\n"
    "      --generations G   forget keys again, after the last G-1 to G periods\n"
    "      --every N         a period is N new keys; with --generations, instead of -n\n"
    "\n"
    "Other:\n"
    "      --help            print this and exit\n"
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
    case 'q':
        r->quiet = r->seen.quiet = true;
        break;
    case OPTION_HELP:
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
        { "capacity", required_argument, NULL, 'n' },
        { "fpr", required_argument, NULL, 'p' },
        { "layout", required_argument, NULL, 'l' },
        { "seed", required_argument, NULL, 's' },
        { "filter", required_argument, NULL, OPTION_FILTER },
        { "accept-unclean", no_argument, NULL, OPTION_ACCEPT_UNCLEAN },
        { "generations", required_argument, NULL, OPTION_GENERATIONS },
        { "every", required_argument, NULL, OPTION_EVERY },
        { "help", no_argument, NULL, OPTION_HELP },
        { "version", no_argument, NULL, OPTION_VERSION },
        { NULL, 0, NULL, 0 },
    };
    int option;
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":" KEYS_SHORT_OPTIONS "dcqn:p:l:s:", options,
                                 NULL)) != -1) {
        if (option == '?' || option == ':')
            cli_bad_option(option, argv);
        if (!keys_take_option(&r->keys, option, optarg))
            take_option(r, option, optarg);
    }
    check_memory_options(r);
    r->inputs = argv + optind;
    r->inputs_count = argc - optind;
}

/* --------------------------------------------------------------------------------------- output */

static void check_output(bool good)
{
    if (good)
        return;
    if (errno == EPIPE && stop_signal == SIGPIPE) {
        seen_close();
        stop_die();
    }
    cli_fail(errno, "cannot write to standard output");
}

/* Lines go out before more of them are waited for. */
static void flush_lines(void)
{
    check_output(fflush_unlocked(stdout) == 0);
}

static void print_counts(const struct request *r, const struct counts *counts)
{
    const char *what = r->keys.form == KEYS_LINES ? "line" : "key";
    int n = printf("%" PRIu64 " %s%s, %" PRIu64 " new, %" PRIu64 " repeated\n", counts->keys, what,
                   counts->keys == 1 ? "" : "s", counts->new_ones, counts->keys - counts->new_ones);
    check_output(n > 0);
}

/* Lines that cannot be printed must not be marked as seen, and those that are appended to the file
 * they are read from never end. */
static void check_output_file(const struct request *r)
{
    struct stat in, out;
    int mode = fcntl(STDOUT_FILENO, F_GETFL);
    if (mode >= 0 && (mode & O_ACCMODE) == O_RDONLY)
        cli_fail(EBADF, "cannot write to standard output");
    if (r->count || fstat(STDOUT_FILENO, &out) != 0 || !S_ISREG(out.st_mode))
        return;
    for (int i = 0; i < r->inputs_count || i == 0; i++) {
        const char *path = r->inputs_count > 0 ? r->inputs[i] : "-";
        bool standard = strcmp(path, "-") == 0;
        int failed = standard ? fstat(STDIN_FILENO, &in) : stat(path, &in);
        if (failed == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino)
            cli_fail(0, "cannot read %s: it is also the output",
                     standard ? "standard input" : path);
    }
}

/* ----------------------------------------------------------------------------------------- work */

static void show_progress(struct cli_progress *progress, const struct keys *input, uint64_t keys)
{
    progress->doing = keys_path(input);
    progress->bytes = keys_bytes(input);
    progress->keys = keys;
    cli_progress_step(progress);
}

static void filter_batch(struct request *r, const struct keys *input,
                         const struct bloomfile_key *keys, size_t n, struct counts *counts)
{
    bool new_ones[SEEN_BATCH];
    for (size_t done = 0, taken; done < n; done += taken) {
        taken = seen_add(&r->seen, keys + done, n - done, new_ones);
        counts->keys += taken;
        for (size_t i = 0; i < taken; i++) {
            const struct bloomfile_key *key = &keys[done + i];
            counts->new_ones += new_ones[i];
            if (!r->count && new_ones[i] != r->repeated)
                check_output(keys_print(input, key));
        }
    }
}

static struct counts filter_lines(struct request *r, struct keys *input)
{
    bool silent = r->quiet || isatty(STDOUT_FILENO);
    struct cli_progress progress = { .total = keys_total(input), .shown_ns = silent ? -1 : 0 };
    struct bloomfile_key keys[SEEN_BATCH];
    struct counts counts = { 0 };
    size_t n;
    while ((n = keys_next(input, keys, SEEN_BATCH)) > 0) {
        filter_batch(r, input, keys, n, &counts);
        show_progress(&progress, input, counts.keys);
    }
    cli_progress_end(&progress);
    return counts;
}

int main(int argc, char **argv)
{
    static struct request r = {
        .keys = { .keep_going = true, .before_read = flush_lines, .stop = &stop_signal },
        .seen.plan.params = BLOOMFILE_PARAMS_INIT
    };
    cli_start(argv[0]);
    parse(&r, argc, argv);
    check_output_file(&r);
    stop_catch();
    if (setvbuf(stdout, NULL, _IOFBF, OUTPUT_SIZE) != 0)
        cli_fail(ENOMEM, "cannot start writing");
    seen_open(&r.seen);

    struct keys *input = keys_new(&r.keys, r.inputs, r.inputs_count);
    struct counts counts = filter_lines(&r, input);
    if (r.count)
        print_counts(&r, &counts);
    flush_lines();
    seen_sync(&r.seen);
    seen_close();
    if (stop_signal != 0)
        stop_die();
    cli_close_stdout();

    bool trouble = keys_errors(input) > 0;
    keys_free(input);
    return trouble ? CLI_TROUBLE : 0;
}
