/* SPDX-License-Identifier: MIT
 *
 * bfquery - print the keys that may be, or are certainly not, in a filter or several
 */
#include "bfquery/confirm.h"
#include "bfquery/filters.h"
#include "cli/cli.h"
#include "cli/names.h"
#include "filters/messages.h"
#include "filters/params.h"
#include "filters/same_file.h"
#include "keys/key_list.h"
#include "keys/relay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    LEAST_MEMORY = 16 << 20,
    DEFAULT_MEMORY = 1 << 30,
    PIECE_SIZE = 1 << 18 /* stays in the cache of a core with its keys and digests */
};
enum {
    SOME = 0,
    NONE = 1
};

struct request {
    struct filters filters;
    struct names filter_names, inputs;
    struct names lists; /* of keys never to print */
    struct names given; /* keys */
    struct keys_options keys;
    unsigned open_flags, threads;
    struct print print;
    struct confirm confirm;
    bool invert, count, quiet, any;
    uint64_t most; /* keys to print; 0: all */
    bool streams;  /* to a pipe or a terminal, where others use what is printed at once */
};

struct query {
    struct request *request;
    struct key_list *unless;
    struct keys *input;
    uint64_t matches; /* keys to be printed */
    bool distrusted;  /* with marks: the filter has changed, which has been reported */
    struct cli_progress progress;
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

/* A list is read first, and a pipe that is both would have no keys left. */
static void check_pipe(const char *list, const char *input)
{
    struct stat a, b;
    const bool is_pipe = status_of(list, &a) && status_of(input, &b) && S_ISFIFO(a.st_mode);
    if (is_pipe && a.st_dev == b.st_dev && a.st_ino == b.st_ino)
        cli_usage("a pipe cannot be both a list and the keys: %s", list);
}

static void check_pipes(const struct request *r)
{
    for (int i = 0; i < r->lists.count; i++) {
        for (int j = 0; j < r->inputs.count; j++)
            check_pipe(r->lists.list[i], r->inputs.list[j]);
        if (reads_standard_input(r))
            check_pipe(r->lists.list[i], "-");
    }
}

/* Each line has one mark, so that a program that waits for it goes on. */
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

/* A hit is printed late, once the list was read. */
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

/* Lines begin with text then, which records of one size cannot. */
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

static void parse(struct request *r, int argc, char **argv)
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
    check_pipes(r);
    check_marks(r);
    check_confirm(r);
    check_print(r);
}

static void check_output(const struct request *r)
{
    for (size_t i = 0; i < r->filters.count; i++) {
        if (same_file_is_filter("-", r->filters.list[i].path))
            cli_fail(0, "cannot write to standard output: it is the filter to query");
    }
    if (r->inputs.count > 0 || reads_standard_input(r))
        same_file_check_names("-", &r->inputs);
    if (r->confirm.path != NULL)
        same_file_check_inputs("-", &r->confirm.path, 1);
    if (r->lists.count > 0)
        same_file_check_inputs("-", r->lists.list, r->lists.count);
}

static struct key_list *read_lists(const struct request *r)
{
    struct key_list *list = NULL;
    for (int i = 0; i < r->lists.count; i++)
        list = key_list_read(list, &r->keys, r->lists.list[i]);
    return list;
}

static bool is_stream(int fd)
{
    struct stat st;
    return isatty(fd) || (fstat(fd, &st) == 0 && (S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode)));
}

static void print_counts(const struct query *q)
{
    const struct filters *fs = &q->request->filters;
    if (!fs->apart)
        cli_print("%" PRIu64 "\n", q->matches);
    for (size_t i = 0; i < fs->count && fs->apart; i++)
        cli_print("%s\t%" PRIu64 "\n", fs->list[i].path, fs->list[i].matches);
}

/* Says what is to be said at the end, and returns the exit status. errors: of inputs that count. */
static int conclude(const struct query *q, unsigned errors)
{
    const struct request *r = q->request;
    bool distrusted;
    if (r->count && !r->quiet && !filters_distrusted(&r->filters, r->invert))
        print_counts(q);
    cli_close_stdout();
    if (q->distrusted)
        return CLI_TROUBLE;
    const bool damaged = filters_tell_damage(&r->filters, r->invert, &distrusted);
    if (r->quiet && q->matches > 0 && !distrusted)
        return SOME; /* whatever trouble there was */
    if (damaged || errors > 0 || r->confirm.list_is_short)
        return CLI_TROUBLE;
    return q->matches > 0 ? SOME : NONE;
}

/* ----------------------------------------------------------------------------------- answering */

static bool is_printing(const struct query *q)
{
    return !q->request->count && !q->request->quiet;
}

static void gather(const struct query *q, struct batch *b)
{
    if (!is_printing(q))
        return;
    if (print_tells(&q->request->print))
        print_gather(&q->request->print, b);
    else
        batch_gather(b, 0, b->count);
}

/* Which keys are to be printed. */
static void choose(void *query, struct batch *b)
{
    const struct query *q = query;
    const bool invert = q->request->invert;
    filters_ask(&q->request->filters, b);
    for (size_t i = 0; i < b->count; i++)
        b->chosen[i] = b->chosen[i] != invert;
    for (size_t i = 0; i < b->count && q->unless != NULL; i++)
        b->chosen[i] = b->chosen[i] && !key_list_has(q->unless, &b->keys[i]);
    if (q->request->most == 0 && q->request->confirm.path == NULL)
        gather(q, b);
}

/* Which of them are the last is known when those before them are finished. */
static void choose_first(const struct query *q, struct batch *b)
{
    uint64_t left = q->request->most - q->matches;
    for (size_t i = 0; i < b->count; i++) {
        b->chosen[i] = b->chosen[i] && left > 0;
        left -= b->chosen[i];
    }
    gather(q, b);
}

/* How many keys there are to print, for each filter too if they are told apart. */
static size_t count_chosen(const struct query *q, const struct batch *b)
{
    const struct filters *fs = &q->request->filters;
    size_t matches = 0;
    for (size_t i = 0; i < b->count; i++)
        matches += b->chosen[i];
    for (size_t filter = 0; filter < fs->count && fs->apart && q->request->count; filter++) {
        for (size_t i = 0; i < b->count; i++)
            fs->list[filter].matches += b->chosen[i] && filters_has(b, filter, i);
    }
    return matches;
}

static bool write_out(const struct query *q, const struct batch *b)
{
    if (!is_printing(q))
        return true;
    if (print_tells(&q->request->print))
        return await_write(STDOUT_FILENO, b->text, b->text_size);
    return batch_write_header(b, STDOUT_FILENO) && batch_write(b);
}

/* Another thread may have had trouble already with what comes behind this batch. */
static _Noreturn void stop(struct query *q, const struct batch *last)
{
    relay_halt();
    cli_progress_end(&q->progress);
    exit(conclude(q, last->errors));
}

/* Before lines with marks are printed. Once the filter has changed, a mark of 0 could be wrong. */
static void check_filters(struct query *q, struct batch *b)
{
    const struct filters *fs = &q->request->filters;
    const char *replaced = NULL;
    bool distrusted;
    if (!q->distrusted && filters_distrusted(fs, true)) {
        (void)filters_tell_damage(fs, true, &distrusted);
        q->distrusted = true;
    } else if (!q->distrusted && (replaced = filters_replaced(fs)) != NULL) {
        cli_warn(0,
                 "%s was replaced or removed during the query: every mark is 1 from now on (start"
                 " bfquery again)",
                 replaced);
        q->distrusted = true;
    }
    if (!q->distrusted)
        return;
    for (size_t i = 0; i < b->count; i++)
        b->chosen[i] = true;
    gather(q, b);
}

/* Prints the held hits that the list confirms. Returns whether there are enough of them. */
static bool confirm(struct query *q)
{
    struct request *r = q->request;
    confirm_compare(&r->confirm);
    if (is_printing(q) && r->streams && filters_distrusted(&r->filters, false))
        return true;
    const uint64_t most = r->most > 0 ? r->most - q->matches : UINT64_MAX;
    q->matches += confirm_take(&r->confirm, most, !is_printing(q));
    return (r->quiet && q->matches > 0) || (r->most > 0 && q->matches == r->most);
}

static void hold(struct query *q, struct batch *b)
{
    struct confirm *c = &q->request->confirm;
    b->text_size = 0;
    if (is_printing(q)) {
        print_header(&q->request->print, b);
        cli_write(b->text, b->text_size);
    }
    confirm_hold(c, b);
    const bool is_broken = split_is_broken(&b->split);
    if ((confirm_is_full(c) || is_broken) && confirm(q))
        stop(q, b);
    if (is_broken)
        (void)conclude(q, 1); /* the caller ends the program */
}

/* With --quiet the first match ends the program, and with --max-count the last one, though another
 * thread may wait for input. */
static void answer(void *query, struct batch *b)
{
    struct query *q = query;
    if (q->request->confirm.path != NULL) {
        hold(q, b);
        return;
    }
    if (q->request->most > 0)
        choose_first(q, b);
    q->matches += count_chosen(q, b);
    if (q->request->quiet && q->matches > 0)
        stop(q, b);
    if (q->request->print.marks)
        check_filters(q, b);
    else if (is_printing(q) && q->request->streams &&
             filters_distrusted(&q->request->filters, q->request->invert))
        stop(q, b);
    if (!write_out(q, b))
        cli_fail(errno, "cannot write to standard output");
    if (q->request->most > 0 && q->matches == q->request->most)
        stop(q, b);
    if (split_is_broken(&b->split))
        (void)conclude(q, 1); /* who calls ends the program, and what was answered stands */
}

int main(int argc, char **argv)
{
    struct request r = { .confirm.memory = DEFAULT_MEMORY,
                         .keys = { .keep_going = true, .piece_size = PIECE_SIZE },
                         .threads = params_default_threads() };
    struct query q = { .request = &r };
    cli_start(argv[0]);
    parse(&r, argc, argv);
    if (!r.quiet)
        check_output(&r);
    filters_open(&r.filters, r.open_flags, &r.keys);
    r.streams = is_stream(STDOUT_FILENO);
    r.filters.unless = q.unless = read_lists(&r);
    r.confirm.filters = &r.filters;
    r.confirm.print = &r.print;
    r.confirm.form = &r.keys;
    confirm_begin(&r.confirm);
    q.input = keys_new(&r.keys, r.inputs.list, r.inputs.count);
    bool silent = r.quiet || (!r.count && isatty(STDOUT_FILENO));
    r.confirm.silent = silent;
    q.progress = (struct cli_progress){ .total = keys_total(q.input), .shown_ns = silent ? -1 : 0 };
    relay_run(&(struct relay){ .input = q.input,
                               .seed = filters_seed(&r.filters),
                               .threads = r.threads,
                               .progress = &q.progress,
                               .job = &q,
                               .work = choose,
                               .finish = answer });
    cli_progress_end(&q.progress);
    if (r.confirm.path != NULL)
        (void)confirm(&q);
    keys_tell_skipped(q.input, q.progress.keys, r.quiet);
    int status = conclude(&q, keys_errors(q.input));
    keys_free(q.input);
    key_list_free(q.unless);
    confirm_end(&r.confirm);
    names_free(&r.lists);
    names_free(&r.given);
    names_free(&r.inputs);
    filters_close(&r.filters);
    names_free(&r.filter_names);
    return status;
}
