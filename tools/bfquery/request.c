/* SPDX-License-Identifier: MIT
 * The options of bfquery, and which of them are mutually exclusive. */
#include "bfquery/request.h"
#include "cli/cli.h"
#include "filters/messages.h"
#include "filters/params.h"
#include "filters/same_file.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LEAST_MEMORY = 16 << 20
};

static const struct options_entry entries[OPTIONS_MOST] = {
    OPTIONS_TITLE("Input:"),
    KEYS_ALL_OPTIONS(struct request, keys),
    NAMES_FROM_OPTION(struct request, inputs),
    OPTION('e', "key", "KEY", "look up this key; repeatable; standard input is then not read",
           OPTIONS_CALL(struct request, given, names_add), .value = OPTIONS_A_TEXT),
    OPTION(0, "unless", "LIST", "ignore the keys listed in LIST (exact match); repeatable",
           OPTIONS_CALL(struct request, lists, names_add), .value = OPTIONS_A_FILE),
    OPTION(0, "confirm", "LIST",
           "compare hits exactly with the keys listed in LIST, the list that FILE was made from, so"
           " that there are no false positives",
           OPTIONS_STRING(struct request, confirm.path, "the name of a file"),
           .value = OPTIONS_A_FILE),
    OPTIONS_TITLE("Filter:"),
    OPTION(0, "filter", "FILE", "query this filter; repeatable; all operands are then KEYFILEs",
           OPTIONS_CALL(struct request, filter_names, names_add), .value = OPTIONS_A_FILTER),
    OPTION(0, "filters-from", "LIST", "query the filters named in LIST, as --filter does",
           OPTIONS_CALL(struct request, filter_names, names_add_file), .value = OPTIONS_A_FILE),
    OPTION(0, "any", NULL, "a key matches if any filter may contain it (default)",
           OPTIONS_FLAG(struct request, any), .rival = 'a'),
    OPTION(0, "all", NULL, "a key matches only if every filter may contain it",
           OPTIONS_FLAG(struct request, filters.all), .rival = 'a'),
    OPTION(0, "verify", NULL, "check the whole filter first, not only the pages used",
           OPTIONS_BITS(struct request, open_flags, BLOOMFILE_OPEN_VERIFY_FULL)),
    PARAMS_ACCEPT_UNCLEAN(struct request, open_flags, "FILE"),
    OPTIONS_TITLE("Output:"),
    OPTION(
        'v', "invert-match", NULL,
        "print the keys that are certainly not in FILE; with --all, those that at least one filter"
        " lacks",
        OPTIONS_FLAG(struct request, invert)),
    OPTION(0, "mark", NULL,
           "print every line after a mark and a tab: 1 for a match, 0 for a line certainly not in"
           " FILE",
           OPTIONS_FLAG(struct request, print.marks)),
    OPTION('c', "count", NULL, "print only the number of matching keys",
           OPTIONS_FLAG(struct request, count)),
    OPTION('m', "max-count", "N", "stop after N matches, counting all inputs together",
           OPTIONS_COUNT(struct request, most, NULL, 1, INT64_MAX)),
    OPTION('q', "quiet", NULL, "print nothing; exit at the first match",
           OPTIONS_FLAG(struct request, quiet)),
    OPTION('n', "line-number", NULL, "prefix each line with its line number",
           OPTIONS_FLAG(struct request, print.numbers)),
    OPTION('H', "with-filename", NULL, "prefix each line with the name of its KEYFILE",
           OPTIONS_FLAG(struct request, print.inputs)),
    OPTION(0, "names", NULL, "prefix each line with the names of the matching filters and a tab",
           OPTIONS_FLAG(struct request, filters.apart)),
    OPTIONS_TITLE("Resources:"),
    PARAMS_THREADS(struct request, threads),
    OPTION(0, "memory", "SIZE",
           "with --confirm: memory for matching keys; LIST is read again each time it is full"
           " (default 1Gi)",
           OPTIONS_COUNT(struct request, confirm.memory, "bytes", LEAST_MEMORY, UINT64_MAX / 2)),
    OPTIONS_TITLE("Other:"),
    OPTIONS_END,
};

static const struct options options = {
    .usages = { "[options] FILE [KEYFILE...]",
                "[options] --filter FILE [--filter FILE...] [KEYFILE...]" },
    .operands = { { "FILE", OPTIONS_A_FILTER }, { "KEYFILE", OPTIONS_A_FILE } },
    .about =
        "Print the lines of each KEYFILE, or of standard input, that may be in the Bloom filter"
        " FILE, made by bfcreate. A line that is not printed is certainly not in FILE.",
    .entries = entries,
    .notes = "Exit status: 0 if a key was selected, 1 if not, 2 on error.",
    .examples = "  bfquery seen.bloom urls.txt              urls possibly seen before\n"
                "  bfquery -v seen.bloom urls.txt           urls certainly new\n"
                "  bfquery --unless good.txt bad.bloom urls.txt\n"
                "                                           skip known false positives\n"
                "  bfquery --filter a.bloom --filter b.bloom --names urls.txt\n"
                "                                           show which filters match\n"
                "  find . -print0 | bfquery -0 paths.bloom | xargs -0 ls -ld\n",
};

static bool is_standard_input(const char *path)
{
    return strcmp(path, "-") == 0;
}

static bool status_of(const char *path, struct stat *st)
{
    return (is_standard_input(path) ? fstat(STDIN_FILENO, st) : stat(path, st)) == 0;
}

static bool reads_standard_input(const struct request *r)
{
    return r->inputs.count == 0 && r->given.count == 0;
}

static void check_standard_input(const struct request *r)
{
    int uses = reads_standard_input(r);
    for (int i = 0; i < r->inputs.count; i++)
        uses |= is_standard_input(r->inputs.list[i]);
    uses += r->inputs.stdin_taken + r->filter_names.stdin_taken;
    for (int i = 0; i < r->lists.count; i++)
        uses += is_standard_input(r->lists.list[i]);
    if (uses > 1)
        cli_usage("standard input can be read only once: as one list, or as the keys");
}

/* A list is read first. If a pipe is both a list and an input, no keys would be left in it. */
static void check_pipe(const char *list, const char *input)
{
    struct stat a, b;
    const bool is_pipe = status_of(list, &a) && status_of(input, &b) && S_ISFIFO(a.st_mode);
    if (is_pipe && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
        cli_usage("a pipe cannot be both a list and the keys: %s", list);
}

static void check_pipes(const struct request *r, char *const *lists, int count)
{
    for (int i = 0; i < count; i++) {
        for (int j = 0; j < r->inputs.count; j++)
            check_pipe(lists[i], r->inputs.list[j]);
        if (reads_standard_input(r))
            check_pipe(lists[i], "-");
    }
}

/* Each line must get exactly one mark, because a program may wait for it. */
static void check_marks(struct request *r)
{
    const char *other = r->invert     ? "-v/--invert-match"
                        : r->count    ? "-c/--count"
                        : r->quiet    ? "-q/--quiet"
                        : r->most > 0 ? "-m/--max-count"
                                      : NULL;
    if (!r->print.marks)
        return;
    if (other != NULL)
        cli_usage("--mark and %s are mutually exclusive", other);
    if (r->keys.fields.missing == FIELDS_SKIP)
        cli_usage("--mark prints every line: use --missing empty");
    r->keys.fields.blank = true;
}

/* A hit is printed late, after the list was read. */
static void check_confirm(const struct request *r)
{
    const char *other = r->invert                      ? "-v/--invert-match"
                        : r->print.marks               ? "--mark"
                        : r->keys.key_form.domains     ? "--domains"
                        : r->count && r->filters.apart ? "--names with -c/--count"
                                                       : NULL;
    if (r->confirm.path != NULL && other != NULL)
        cli_usage("--confirm and %s are mutually exclusive", other);
}

static void check_given(struct request *r)
{
    const struct fields *f = &r->keys.fields;
    if (r->given.count > 0 && (f->count > 0 || f->header || f->csv))
        cli_usage("-e/--key gives whole keys: leave out --field, --header, --csv and --json");
    r->keys.given = r->given.list;
    r->keys.given_count = r->given.count;
}

/* With a prefix, lines begin with text, so they cannot be fixed-size records. */
static void check_print(struct request *r)
{
    struct print *p = &r->print;
    p->filters = r->filters.apart;
    p->names = &r->filters;
    const char *option = p->numbers ? "-n/--line-number" : p->inputs ? "-H/--with-filename" : NULL;
    if (option != NULL && r->count)
        cli_usage("%s and -c/--count are mutually exclusive", option);
    if (print_tells(p) && !r->count && r->keys.record_size > 0)
        cli_usage("-x/--record-size and %s are mutually exclusive", p->marks         ? "--mark"
                                                                    : option != NULL ? option
                                                                                     : "--names");
    print_check_names(p);
    r->keys.numbered = p->numbers;
}

static void name_filter(struct request *r, const char *path)
{
    if (path[0] == '\0')
        cli_usage("--filter needs the name of a file");
    filters_name(&r->filters, path);
}

void request_parse(struct request *r, int argc, char **argv)
{
    int first = options_parse(&options, r, argc, argv);
    const bool is_operand = r->filter_names.count + r->filter_names.files_count == 0;
    if (is_operand && (first == argc || argv[first][0] == '\0'))
        cli_usage("the name of the filter file is missing");
    keys_options_check(&r->keys);
    names_read(&r->filter_names, argv + first, is_operand);
    names_read(&r->inputs, argv + first + is_operand, argc - first - is_operand);
    if (is_operand)
        message_order = "the filter comes first: bfquery FILE KEYFILE...";
    for (int i = 0; i < r->filter_names.count; i++)
        name_filter(r, r->filter_names.list[i]);
    check_given(r);
    check_standard_input(r);
    check_pipes(r, r->lists.list, r->lists.count);
    check_pipes(r, r->filter_names.files, r->filter_names.files_count);
    check_pipes(r, r->inputs.files, r->inputs.files_count);
    check_marks(r);
    check_confirm(r);
    check_print(r);
}

void request_check_output(const struct request *r)
{
    if (r->quiet)
        return;
    for (size_t i = 0; i < r->filters.count; i++) {
        if (same_file_is_filter("-", r->filters.list[i].path))
            cli_fail(0, "cannot write to standard output: it is the filter to query");
    }
    cli_check_stdout();
    if (r->inputs.count > 0 || reads_standard_input(r))
        same_file_check_names("-", &r->inputs);
    if (r->confirm.path != NULL)
        same_file_check_inputs("-", &r->confirm.path, 1);
    if (r->lists.count > 0)
        same_file_check_inputs("-", r->lists.list, r->lists.count);
    if (r->filter_names.files_count > 0)
        same_file_check_inputs("-", r->filter_names.files, r->filter_names.files_count);
}
