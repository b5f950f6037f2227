/* SPDX-License-Identifier: MIT
 *
 * bfquery - print the keys that may be, or are certainly not, in a filter
 */
#include "cli.h"
#include "keys.h"
#include "list.h"
#include "say.h"

#include <bloomfile.h>

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    BATCH = 1024,
    OUTPUT_SIZE = 1 << 18
};
enum {
    OPTION_HELP = 0x100,
    OPTION_VERSION,
    OPTION_VERIFY,
    OPTION_UNLESS,
    OPTION_ACCEPT_UNCLEAN
};
enum {
    SOME = 0,
    NONE = 1
};

struct request {
    const char *path;
    char *const *inputs;
    int inputs_count;
    char **lists; /* of keys never to print, by their names */
    int lists_count;
    struct keys_options keys;
    unsigned open_flags;
    bool invert, count, quiet;
};

static const char help[] =
    "usage: bfquery [options] FILE [KEYFILE...]\n"
    "Print the lines of each KEYFILE, or of standard input, that may be in FILE, a\n"
    "filter made by bfcreate.\n"
    "\n"
    "Keys:\n"
    "  -0, --null          keys end with a zero byte, not with a newline\n"
    "  -x, --fixed N       keys are binary records of N bytes\n"
    "      --crlf          a carriage return before a newline is no part of the key\n"
    "\n"
    "Output:\n"
    "      --unless LIST   leave out the keys of this file, compared exactly; may be given\n"
    "                      several times\n"
    "  -v, --invert-match  print the keys that are certainly not in the filter\n"
    "  -c, --count         print only how many keys there are to print\n"
    "  -q, --quiet         print nothing, stop at the first such key\n"
    "\n"
    "Other:\n"
    "      --verify        check the whole filter first, not only the pages used\n"
    "      --accept-unclean\n"
    "                      FILE was in use when its machine went down: ask what is there\n"
    "      --help          print this and exit\n"
    "      --version       print the version and exit\n"
    "\n"
    "The exit status is 0 if there was a key to print, 1 if none, 2 for trouble.\n"
    "\n"
    "Examples:\n"
    "  bfquery seen.bloom urls.txt              urls that were perhaps seen before\n"
    "  bfquery -v seen.bloom urls.txt           urls that are certainly new\n"
    "  bfquery --unless good.txt bad.bloom urls.txt\n"
    "                                           but for known false positives\n"
    "  find . -print0 | bfquery -0 paths.bloom | xargs -0 ls -ld\n";

static void take_option(struct request *r, int option, char *value)
{
    switch (option) {
    case 'v':
        r->invert = true;
        break;
    case 'c':
        r->count = true;
        break;
    case 'q':
        r->quiet = true;
        break;
    case OPTION_VERIFY:
        r->open_flags |= BLOOMFILE_VERIFY_FULL;
        break;
    case OPTION_UNLESS:
        r->lists[r->lists_count++] = value;
        break;
    case OPTION_ACCEPT_UNCLEAN:
        r->open_flags |= BLOOMFILE_ACCEPT_UNCLEAN;
        break;
    case OPTION_HELP:
        cli_help(help);
    case OPTION_VERSION:
        cli_version();
    }
}

static bool is_standard_input(const char *path)
{
    return strcmp(path, "-") == 0;
}

static void check_standard_input(const struct request *r)
{
    int uses = r->inputs_count == 0;
    for (int i = 0; i < r->inputs_count; i++)
        uses |= is_standard_input(r->inputs[i]);
    for (int i = 0; i < r->lists_count; i++)
        uses += is_standard_input(r->lists[i]);
    if (uses > 1)
        cli_usage("standard input cannot be both a list and the keys, nor two lists");
}

static void parse(struct request *r, int argc, char **argv)
{
    static const struct option options[] = {
        { "null", no_argument, NULL, '0' },
        { "fixed", required_argument, NULL, 'x' },
        { "crlf", no_argument, NULL, KEYS_OPTION_CRLF },
        { "invert-match", no_argument, NULL, 'v' },
        { "count", no_argument, NULL, 'c' },
        { "quiet", no_argument, NULL, 'q' },
        { "verify", no_argument, NULL, OPTION_VERIFY },
        { "unless", required_argument, NULL, OPTION_UNLESS },
        { "accept-unclean", no_argument, NULL, OPTION_ACCEPT_UNCLEAN },
        { "help", no_argument, NULL, OPTION_HELP },
        { "version", no_argument, NULL, OPTION_VERSION },
        { NULL, 0, NULL, 0 },
    };
    int option;
    opterr = 0;
    r->lists = calloc((size_t)argc, sizeof(*r->lists));
    if (r->lists == NULL)
        cli_fail(ENOMEM, "cannot start");
    while ((option = getopt_long(argc, argv, ":" KEYS_SHORT_OPTIONS "vcq", options, NULL)) != -1) {
        if (option == '?' || option == ':')
            cli_bad_option(option, argv);
        if (!keys_take_option(&r->keys, option, optarg))
            take_option(r, option, optarg);
    }
    if (optind == argc || argv[optind][0] == '\0')
        cli_usage("the name of the filter file is missing");
    r->path = argv[optind];
    r->inputs = argv + optind + 1;
    r->inputs_count = argc - optind - 1;
    check_standard_input(r);
}

static struct list *read_lists(const struct request *r)
{
    struct list *list = NULL;
    for (int i = 0; i < r->lists_count; i++)
        list = list_read(list, &r->keys, r->lists[i]);
    return list;
}

static void check_output(bool good)
{
    if (!good)
        cli_fail(errno, "cannot write to standard output");
}

/* Answers go out before more keys are waited for, so a person or a program can take turns. */
static void flush_answers(void)
{
    check_output(fflush_unlocked(stdout) == 0);
}

/* Sets chosen[i] for each key to be printed, and returns how many there are. */
static size_t choose(const struct request *r, const bloomfile *f, const struct list *unless,
                     const struct bloomfile_key *keys, size_t n, bool *chosen)
{
    size_t count = 0;
    bloomfile_contains_many(f, keys, n, chosen);
    for (size_t i = 0; i < n; i++) {
        chosen[i] = chosen[i] != r->invert && !list_has(unless, &keys[i]);
        count += chosen[i];
    }
    return count;
}

/* Returns how many keys are to be printed; with --quiet it may stop at the first. */
static uint64_t answer(const struct request *r, const bloomfile *f, const struct list *unless,
                       struct keys *input)
{
    struct bloomfile_key keys[BATCH];
    bool chosen[BATCH];
    uint64_t matches = 0;
    size_t n;
    while ((n = keys_next(input, keys, BATCH)) > 0) {
        matches += choose(r, f, unless, keys, n, chosen);
        if (r->quiet && matches > 0)
            break;
        if (r->quiet || r->count)
            continue;
        for (size_t i = 0; i < n; i++) {
            if (chosen[i])
                check_output(keys_print(input, &keys[i]));
        }
    }
    return matches;
}

/* Whether the filter turned out to be damaged, told to the user. */
static bool report_damage(const struct request *r, const bloomfile *f)
{
    int error = bloomfile_status(f);
    if (error == 0)
        return false;
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(f, &info);
    if (error == BLOOMFILE_EPOISONED)
        cli_warn(0,
                 "%s: a program that adds to it could not write it to disk: keys asked since then"
                 " were treated as present",
                 r->path);
    else if (info.bad_pages == 0)
        cli_warn(error, "%s is damaged", r->path);
    else
        cli_warn(0, "%s: %" PRIu64 " page%s damaged: keys on %s were treated as present", r->path,
                 info.bad_pages, info.bad_pages == 1 ? "" : "s",
                 info.bad_pages == 1 ? "it" : "them");
    return true;
}

int main(int argc, char **argv)
{
    struct request r = { .keys = { .keep_going = true, .before_read = flush_answers } };
    bloomfile *f;
    cli_start(argv[0]);
    parse(&r, argc, argv);
    cli_catch_bus_error(r.path);
    int error = bloomfile_open(&f, r.path, r.open_flags);
    if (error != 0)
        say_cannot_open(r.path, error);
    if (setvbuf(stdout, NULL, _IOFBF, OUTPUT_SIZE) != 0)
        cli_fail(ENOMEM, "cannot start writing");

    struct list *unless = read_lists(&r);
    struct keys *input = keys_new(&r.keys, r.inputs, r.inputs_count);
    uint64_t matches = answer(&r, f, unless, input);
    if (r.count && !r.quiet)
        printf("%" PRIu64 "\n", matches);
    cli_close_stdout();

    bool trouble = report_damage(&r, f) || keys_errors(input) > 0;
    keys_free(input);
    list_free(unless);
    free(r.lists);
    bloomfile_close(f);
    if (trouble && !(r.quiet && matches > 0))
        return CLI_TROUBLE;
    return matches > 0 ? SOME : NONE;
}
