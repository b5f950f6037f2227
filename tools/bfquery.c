/* SPDX-License-Identifier: MIT
 *
 * bfquery - print the keys that may be, or are certainly not, in a filter
 */
#include "shared/cli.h"
#include "shared/framing.h"
#include "shared/keys.h"
#include "shared/list.h"
#include "shared/output.h"
#include "shared/params.h"
#include "shared/relay.h"
#include "shared/say.h"

#include <bloomfile.h>
#include <bloomfile_inspect.h>

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PIECE_SIZE = 1 << 18 /* stays in the cache of a core with its keys and digests */
};
enum {
    SOME = 0,
    NONE = 1
};

struct names {
    char **list;
    int count;
};

struct request {
    const char *path;
    char *const *inputs;
    int inputs_count;
    struct names lists; /* of keys never to print */
    struct keys_options keys;
    unsigned open_flags, threads;
    bool invert, count, quiet;
    uint64_t most; /* keys to print; 0: all */
};

struct query {
    const struct request *request;
    bloomfile *filter;
    struct list *unless;
    struct keys *input;
    uint64_t matches; /* keys to be printed */
    struct cli_progress progress;
};

static void take_list(void *lists, char *value)
{
    struct names *n = lists;
    n->list = reallocarray(n->list, (size_t)n->count + 1, sizeof(*n->list));
    if (n->list == NULL)
        cli_fail(ENOMEM, "cannot start");
    n->list[n->count++] = value;
}

static const struct options_entry entries[OPTIONS_MOST] = {
    OPTIONS_TITLE("Keys:"),
    KEYS_OPTIONS(struct request, keys),
    KEYS_FIELDS_OPTIONS(struct request, keys),
    KEYS_CSV_OPTION(struct request, keys),
    OPTIONS_TITLE("Output:"),
    OPTION(0, "unless", "LIST",
           "leave out the keys of this file, compared exactly; may be given several times",
           OPTIONS_CALL(struct request, lists, take_list)),
    OPTION('v', "invert-match", NULL, "print the keys that are certainly not in the filter",
           OPTIONS_FLAG(struct request, invert)),
    OPTION('c', "count", NULL, "print only how many keys there are to print",
           OPTIONS_FLAG(struct request, count)),
    OPTION('m', "max-count", "NUM", "stop after NUM keys to print, of all inputs together",
           OPTIONS_COUNT(struct request, most, NULL, 1, INT64_MAX)),
    OPTION('q', "quiet", NULL, "print nothing, stop at the first such key",
           OPTIONS_FLAG(struct request, quiet)),
    OPTIONS_TITLE("Other:"),
    PARAMS_THREADS(struct request, threads, "; the output is the same"),
    OPTION(0, "verify", NULL, "check the whole filter first, not only the pages used",
           OPTIONS_BITS(struct request, open_flags, BLOOMFILE_VERIFY_FULL)),
    PARAMS_ACCEPT_UNCLEAN(struct request, open_flags, "FILE"),
    OPTIONS_END,
};

static const struct options options = {
    .usages = { "[options] FILE [KEYFILE...]" },
    .about = "Print the lines of each KEYFILE, or of standard input, that may be in FILE, a filter"
             " made by bfcreate.",
    .entries = entries,
    .notes = "The exit status is 0 if there was a key to print, 1 if none, 2 for trouble.",
    .examples = "  bfquery seen.bloom urls.txt              urls that were perhaps seen before\n"
                "  bfquery -v seen.bloom urls.txt           urls that are certainly new\n"
                "  bfquery --unless good.txt bad.bloom urls.txt\n"
                "                                           but for known false positives\n"
                "  find . -print0 | bfquery -0 paths.bloom | xargs -0 ls -ld\n",
};

static bool is_standard_input(const char *path)
{
    return strcmp(path, "-") == 0;
}

static void check_standard_input(const struct request *r)
{
    int uses = r->inputs_count == 0;
    for (int i = 0; i < r->inputs_count; i++)
        uses |= is_standard_input(r->inputs[i]);
    for (int i = 0; i < r->lists.count; i++)
        uses += is_standard_input(r->lists.list[i]);
    if (uses > 1)
        cli_usage("standard input cannot be both a list and the keys, nor two lists");
}

static void parse(struct request *r, int argc, char **argv)
{
    const int first = options_parse(&options, r, argc, argv);
    if (first == argc || argv[first][0] == '\0')
        cli_usage("the name of the filter file is missing");
    keys_options_check(&r->keys);
    r->path = argv[first];
    r->inputs = argv + first + 1;
    r->inputs_count = argc - first - 1;
    check_standard_input(r);
}

static void check_output(const struct request *r)
{
    if (output_is("-", r->path))
        cli_fail(0, "cannot write to standard output: it is the filter to ask");
    output_check_inputs("-", r->inputs, r->inputs_count);
    if (r->lists.count > 0)
        output_check_inputs("-", r->lists.list, r->lists.count);
}

static struct list *read_lists(const struct request *r)
{
    struct list *list = NULL;
    for (int i = 0; i < r->lists.count; i++)
        list = list_read(list, &r->keys, r->lists.list[i]);
    return list;
}

/* Tells the user if the filter turned out to be damaged, and returns whether. */
static bool report_damage(const struct request *r, const bloomfile *f)
{
    int error = bloomfile_status(f);
    if (error == 0)
        return false;
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(f, &info);
    if (error == BLOOMFILE_ECHANGED)
        cli_warn(0,
                 "%s was overwritten while it was asked, and answers may be wrong: ask again (to"
                 " replace a filter, rename a new file over it)",
                 r->path);
    else if (error == BLOOMFILE_EPOISONED)
        cli_warn(0,
                 "%s: a program that adds to it could not write it to disk: keys asked since then"
                 " were treated as present",
                 r->path);
    else if (error == BLOOMFILE_EUNCLEAN)
        cli_warn(0,
                 "%s: a program that adds to it died while it wrote it to disk: if the disk failed"
                 " just then, keys were missed: add those since the last sync again (bfadd"
                 " --accept-unclean)",
                 r->path);
    else if (info.bad_pages == 0)
        cli_warn(error, "%s is damaged", r->path);
    else
        cli_warn(0, "%s: %" PRIu64 " page%s damaged: keys on %s were treated as present", r->path,
                 info.bad_pages, cli_s(info.bad_pages), info.bad_pages == 1 ? "it" : "them");
    return true;
}

/* Says what is to be said at the end, and returns the exit status. errors: of inputs that count. */
static int conclude(const struct query *q, unsigned errors)
{
    const struct request *r = q->request;
    if (r->count && !r->quiet)
        printf("%" PRIu64 "\n", q->matches);
    cli_close_stdout();
    bool damaged = report_damage(r, q->filter);
    bool changed = damaged && bloomfile_status(q->filter) == BLOOMFILE_ECHANGED;
    if (r->quiet && q->matches > 0 && !changed)
        return SOME; /* whatever trouble there was */
    if (damaged || errors > 0)
        return CLI_TROUBLE;
    return q->matches > 0 ? SOME : NONE;
}

/* ----------------------------------------------------------------------------------- answering */

static bool is_printing(const struct query *q)
{
    return !q->request->count && !q->request->quiet;
}

/* Which keys are to be printed. */
static void choose(void *query, struct batch *b)
{
    const struct query *q = query;
    const bool invert = q->request->invert;
    bloomfile_contains_digests(q->filter, b->digests, b->count, b->chosen);
    for (size_t i = 0; i < b->count; i++)
        b->chosen[i] = b->chosen[i] != invert;
    for (size_t i = 0; i < b->count && q->unless != NULL; i++)
        b->chosen[i] = b->chosen[i] && !list_has(q->unless, &b->keys[i]);
    if (is_printing(q) && q->request->most == 0)
        batch_gather(b, 0, b->count);
}

/* Which of them are the last is known when those before them are finished. */
static void choose_first(const struct query *q, struct batch *b)
{
    uint64_t left = q->request->most - q->matches;
    for (size_t i = 0; i < b->count; i++) {
        b->chosen[i] = b->chosen[i] && left > 0;
        left -= b->chosen[i];
    }
    if (is_printing(q))
        batch_gather(b, 0, b->count);
}

/* Another thread may have had trouble already with what comes behind this batch. */
static _Noreturn void stop(struct query *q, const struct batch *last)
{
    relay_halt();
    cli_progress_end(&q->progress);
    exit(conclude(q, last->errors));
}

/* With --quiet the first match ends the program, and with --max-count the last one, though another
 * thread may wait for input. */
static void answer(void *query, struct batch *b)
{
    struct query *q = query;
    size_t matches = 0;
    if (q->request->most > 0)
        choose_first(q, b);
    for (size_t i = 0; i < b->count; i++)
        matches += b->chosen[i];
    q->matches += matches;
    if (q->request->quiet && q->matches > 0)
        stop(q, b);
    if ((is_printing(q) && !batch_write_header(b, STDOUT_FILENO)) || !batch_write(b))
        cli_fail(errno, "cannot write to standard output");
    if (q->request->most > 0 && q->matches == q->request->most)
        stop(q, b);
    if (b->split.lacking != 0)
        (void)conclude(q, 1); /* who calls ends the program, and what was answered stands */
}

int main(int argc, char **argv)
{
    struct request r = { .keys = { .keep_going = true, .piece_size = PIECE_SIZE },
                         .threads = params_default_threads() };
    struct query q = { .request = &r };
    cli_start(argv[0]);
    parse(&r, argc, argv);
    if (!r.quiet)
        check_output(&r);
    cli_catch_bus_error(r.path);
    int error = bloomfile_open(&q.filter, r.path, r.open_flags);
    if (error != 0)
        say_cannot_open(r.path, error);
    framing_compare(r.path, q.filter, &r.keys);
    q.unless = read_lists(&r);
    q.input = keys_new(&r.keys, r.inputs, r.inputs_count);
    bool silent = r.quiet || (!r.count && isatty(STDOUT_FILENO));
    q.progress = (struct cli_progress){ .total = keys_total(q.input), .shown_ns = silent ? -1 : 0 };
    relay_run(&(struct relay){ .input = q.input,
                               .seed = bloomfile_seed(q.filter),
                               .threads = r.threads,
                               .progress = &q.progress,
                               .job = &q,
                               .work = choose,
                               .finish = answer });
    cli_progress_end(&q.progress);
    keys_tell_skipped(q.input, q.progress.keys, r.quiet);
    int status = conclude(&q, keys_errors(q.input));
    keys_free(q.input);
    list_free(q.unless);
    free(r.lists.list);
    bloomfile_close(q.filter);
    return status;
}
