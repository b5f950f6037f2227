/* SPDX-License-Identifier: MIT
 *
 * bfcommon - print the lines that files have in common, or that only the first one has
 */
#include "bfcommon/join.h"
#include "shared/cli.h"
#include "shared/output.h"
#include "shared/temporary.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <malloc.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#define LEAST_MEMORY   (UINT64_C(16) << 20)
#define DEFAULT_MEMORY (UINT64_C(1) << 30)

enum {
    OUTPUT_SIZE = 1 << 18,
    MAP_FROM = 1 << 17,
    ROOM = 1 << 18
};
enum {
    OTHER_DESCRIPTORS = 16, /* the standard streams, and those for sorting */
    LEAST_DESCRIPTORS = OTHER_DESCRIPTORS + 2
};
enum {
    OPTION_VERSION = 0x100,
    OPTION_STATS,
    OPTION_MEMORY,
    OPTION_TEMP
};
enum {
    SOME = 0,
    NONE = 1
};

static const char help[] =
    "usage: bfcommon [options] FILE FILE...\n"
    "Print the lines that all FILEs have in common, each once, in bytewise order. The\n"
    "answer is exact. Files may be far larger than the memory; a FILE may be '-' or a\n"
    "pipe.\n"
    "\n"
    "Keys:\n"
    "  -0, --null         keys end with a zero byte, not with a newline\n"
    "  -x, --fixed N      keys are binary records of N bytes\n"
    "      --crlf         a carriage return before a newline is no part of the key\n"
    "\n"
    "Output:\n"
    "  -d, --difference   print the lines of the first FILE that no other one has\n"
    "  -c, --count        print only how many lines there are to print\n"
    "      --stats        tell on standard error what each pass read and kept\n"
    "  -q, --quiet        no progress; only errors, and warnings that keys may never\n"
    "                     match\n"
    "\n"
    "Resources:\n"
    "      --memory SIZE  bytes of memory to use (default 1Gi, at least 16Mi)\n"
    "      --temp DIR     folder for temporary files (default $TMPDIR, or /tmp)\n"
    "\n"
    "Other:\n"
    "  -h, --help         print this and exit\n"
    "      --version      print the version and exit\n"
    "\n"
    "SIZE is a number such as 500M, 4Gi or 1e9.\n"
    "The exit status is 0 if there was a line to print, 1 if none, 2 for trouble.\n"
    "\n"
    "Examples:\n"
    "  bfcommon monday.urls tuesday.urls             urls seen on both days\n"
    "  bfcommon -d today.urls *.old                  urls of today that are new\n"
    "  bfcommon --memory 4Gi --stats a.urls b.urls c.urls\n"
    "  zcat b.gz | bfcommon -c a.txt -               how many lines are in both\n";

/* --------------------------------------------------------------------------------- command line */

static uint64_t memory_size(const char *value)
{
    uint64_t size;
    if (!cli_parse_count(value, &size) || size < LEAST_MEMORY || size > SIZE_MAX / 2)
        cli_bad_count("--memory", "a number of bytes from 16Mi", value);
    return size;
}

static void take_option(struct job *job, int option, const char *value)
{
    switch (option) {
    case 'd':
        job->difference = true;
        break;
    case 'c':
        job->count_only = true;
        break;
    case 'q':
        job->quiet = true;
        break;
    case OPTION_STATS:
        job->stats = true;
        break;
    case OPTION_MEMORY:
        job->memory = memory_size(value);
        break;
    case OPTION_TEMP:
        if (value[0] == '\0')
            cli_usage("--temp takes the name of a folder");
        job->folder = value;
        break;
    case 'h':
        cli_help(help);
    case OPTION_VERSION:
        cli_version();
    }
}

static void check_operands(char *const *paths, int count)
{
    int standard = 0;
    if (count < 2)
        cli_usage("at least two files are needed");
    for (int i = 0; i < count; i++)
        standard += strcmp(paths[i], "-") == 0;
    if (standard > 1)
        cli_usage("standard input can be only one of the files");
}

static void parse(struct job *job, int argc, char **argv)
{
    static const struct option options[] = {
        { "null", no_argument, NULL, '0' },
        { "fixed", required_argument, NULL, 'x' },
        { "crlf", no_argument, NULL, KEYS_OPTION_CRLF },
        { "difference", no_argument, NULL, 'd' },
        { "count", no_argument, NULL, 'c' },
        { "stats", no_argument, NULL, OPTION_STATS },
        { "quiet", no_argument, NULL, 'q' },
        { "memory", required_argument, NULL, OPTION_MEMORY },
        { "temp", required_argument, NULL, OPTION_TEMP },
        { "help", no_argument, NULL, 'h' },
        { "version", no_argument, NULL, OPTION_VERSION },
        { NULL, 0, NULL, 0 },
    };
    int option;
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":" KEYS_SHORT_OPTIONS "dcqh", options, NULL)) != -1) {
        if (option == '?' || option == ':')
            cli_bad_option(option, argv);
        if (!keys_take_option(&job->form, option, optarg))
            take_option(job, option, optarg);
    }
    check_operands(argv + optind, argc - optind);
    output_check_inputs("-", argv + optind, argc - optind);
    if (job->form.record_size >= memory_of_key(job->memory))
        cli_fail(0, "records of %zu bytes need more --memory", job->form.record_size);
}

/* ----------------------------------------------------------------------------------------- work */

static int by_size(const void *a, const void *b)
{
    uint64_t x = input_size(a), y = input_size(b);
    return (x > y) - (x < y);
}

/* How many descriptors the process may have. */
static size_t most_descriptors(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_NOFILE, &limit) != 0)
        return LEAST_DESCRIPTORS;
    const rlim_t before = limit.rlim_cur;
    limit.rlim_cur = limit.rlim_max;
    if (setrlimit(RLIMIT_NOFILE, &limit) != 0)
        limit.rlim_cur = before;
    return limit.rlim_cur < SIZE_MAX ? (size_t)limit.rlim_cur : SIZE_MAX;
}

static void check_pipes(const struct job *job)
{
    for (size_t i = 0; i < job->count; i++) {
        for (size_t j = 0; j < i; j++) {
            if (input_is_same_pipe(&job->inputs[i], &job->inputs[j]))
                cli_usage("%s and %s are the same pipe", job->inputs[j].where.name,
                          job->inputs[i].where.name);
        }
    }
}

/* An input needs two descriptors: its own, and one for what is kept of it. If there are not enough
 * for all, inputs are opened in turn, and only that many are handled at once. */
static void open_input(struct job *job, size_t i, const char *path, size_t descriptors)
{
    struct input *in = &job->inputs[i];
    input_open(in, path, &job->form, memory_of_key(job->memory));
    if (job->count > descriptors / 2 - OTHER_DESCRIPTORS / 2 && input_can_take_turns(in))
        input_take_turns(in);
    else if (job->at_once > 2)
        job->at_once--;
}

/* The smallest of the files first, if their order does not matter: its filter is the largest. */
static void open_inputs(struct job *job, char *const *paths, int count)
{
    const size_t all = most_descriptors();
    const size_t descriptors = all > LEAST_DESCRIPTORS ? all : LEAST_DESCRIPTORS;
    job->count = (size_t)count;
    job->at_once = descriptors - OTHER_DESCRIPTORS;
    job->inputs = calloc(job->count, sizeof(*job->inputs));
    if (job->inputs == NULL)
        cli_fail(ENOMEM, "cannot start");
    for (size_t i = 0; i < job->count; i++)
        open_input(job, i, paths[i], descriptors);
    check_pipes(job);
    if (!job->difference)
        qsort(job->inputs, job->count, sizeof(*job->inputs), by_size);
}

static void check_unchanged(const struct job *job)
{
    for (size_t i = 0; i < job->count; i++)
        input_check_unchanged(&job->inputs[i]);
}

/* Takes as many inputs as can be dealt with at once, or all that are left; what the first of them
 * have in common then is the first of the rest. `kept` has room for each. Returns how many lines
 * were printed, by the last ones. */
static uint64_t find_common_by_turns(const struct job *job, struct spool **kept)
{
    struct job turn = *job;
    struct input first = job->inputs[0];
    for (size_t done = 1;; done += turn.count - 1) {
        const size_t left = job->count - done + 1;
        turn.count = left < job->at_once ? left : job->at_once;
        turn.inputs = &job->inputs[done - 1];
        turn.inputs[0] = first;
        const bool some = passes_common(&turn, kept), last = turn.count == left;
        if (last || !some) {
            check_unchanged(job);
            return some ? join_common(&turn, kept) : 0;
        }
        first = input_of_spool(join_common_to_spool(&turn, kept), ROOM);
        for (size_t i = 0; i < turn.count; i++) {
            input_close(&turn.inputs[i]);
            turn.inputs[i] = (struct input){ .where = { .fd = -1 } };
        }
    }
}

static uint64_t find_common(const struct job *job)
{
    struct spool **kept = calloc(job->count, sizeof(struct spool *));
    if (kept == NULL)
        cli_fail(ENOMEM, "cannot start");
    const uint64_t lines = find_common_by_turns(job, kept);
    free(kept);
    return lines;
}

static uint64_t find_difference(const struct job *job)
{
    struct parts parts = passes_difference(job);
    check_unchanged(job);
    return join_difference(job, &parts);
}

int main(int argc, char **argv)
{
    struct job job = { .memory = DEFAULT_MEMORY, .folder = temporary_folder() };
    cli_start(argv[0]);
    parse(&job, argc, argv);
#ifdef M_MMAP_THRESHOLD
    mallopt(M_MMAP_THRESHOLD, MAP_FROM); /* so that what is freed does not count any more */
#endif
    if (setvbuf(stdout, NULL, _IOFBF, OUTPUT_SIZE) != 0)
        cli_fail(ENOMEM, "cannot start writing");
    job.quiet = job.quiet || (!job.count_only && isatty(STDOUT_FILENO));
    open_inputs(&job, argv + optind, argc - optind);

    uint64_t lines = job.difference ? find_difference(&job) : find_common(&job);
    if (job.count_only)
        printf("%" PRIu64 "\n", lines);
    if (job.stats)
        cli_warn(0, "%" PRIu64 " line%s found", lines, cli_s(lines));
    cli_close_stdout();
    for (size_t i = 0; i < job.count; i++)
        input_close(&job.inputs[i]);
    free(job.inputs);
    return lines > 0 ? SOME : NONE;
}
