/* SPDX-License-Identifier: MIT
 * bfquery - print the keys that may be, or are certainly not, in one or several filters */
#include "bfquery/request.h"
#include "cli/cli.h"
#include "filters/params.h"
#include "keys/relay.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    DEFAULT_MEMORY = 1 << 30,
    PIECE_SIZE = 1 << 18 /* stays in a core's cache together with its keys and digests */
};
enum {
    SOME = 0,
    NONE = 1
};

struct query {
    struct request *request;
    struct key_list *unless;
    struct keys *input;
    uint64_t matches; /* keys to be printed */
    bool distrusted;  /* with marks: a filter has changed, and this was reported */
    struct cli_progress progress;
};

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

/* Prints counts and warnings at the end. Returns the exit status. `errors`: inputs that failed. */
static int conclude(const struct query *q, unsigned errors)
{
    const struct request *r = q->request;
    bool distrusted;
    if (r->count && !r->quiet && !filters_distrusted(&r->filters, r->invert))
        print_counts(q);
    cli_close_stdout();
    if (q->distrusted)
        return CLI_ERROR;
    const bool damaged = filters_tell_damage(&r->filters, r->invert, &distrusted);
    if (r->quiet && q->matches > 0 && !distrusted)
        return SOME; /* despite any other errors */
    if (damaged || errors > 0 || r->confirm.list_is_short)
        return CLI_ERROR;
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

/* Chooses the keys to be printed. */
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

/* Limits the chosen keys to --max-count. This needs the matches of all earlier batches. */
static void choose_first(const struct query *q, struct batch *b)
{
    uint64_t left = q->request->most - q->matches;
    for (size_t i = 0; i < b->count; i++) {
        b->chosen[i] = b->chosen[i] && left > 0;
        left -= b->chosen[i];
    }
    gather(q, b);
}

/* The number of keys to print; with --names and --count, also counts them for each filter. */
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

/* Ends the program after this batch. Errors of later input, which another thread may have read
 * already, do not count. */
static _Noreturn void stop(struct query *q, const struct batch *last)
{
    relay_halt();
    cli_progress_end(&q->progress);
    exit(conclude(q, last->errors));
}

/* Called before lines with marks are printed. If a filter has changed, a mark of 0 may be wrong, so
 * every mark is 1 from then on. */
static void check_filters(struct query *q, struct batch *b)
{
    const struct filters *fs = &q->request->filters;
    const char *replaced = NULL;
    bool distrusted;
    if (!q->distrusted && filters_distrusted(fs, true)) {
        (void)filters_tell_damage(fs, true, &distrusted);
        q->distrusted = true;
    } else if (!q->distrusted && (replaced = filters_replaced(fs)) != NULL) {
        cli_note(0,
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

/* Prints the held hits that the list confirms. Returns whether to stop. */
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

/* Prints a batch. --quiet ends the program at the first match, and --max-count at the last, even if
 * another thread is waiting for input. */
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
        (void)conclude(q, 1); /* the caller ends the program; earlier results stay valid */
}

int main(int argc, char **argv)
{
    struct request r = {
        .confirm.memory = DEFAULT_MEMORY,
        .keys = { .keep_going = true, .missing = FILTERS_MISSING, .piece_size = PIECE_SIZE },
        .threads = params_default_threads()
    };
    struct query q = { .request = &r };
    cli_start(argv[0]);
    request_parse(&r, argc, argv);
    request_check_output(&r);
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
