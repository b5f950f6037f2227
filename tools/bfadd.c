/* SPDX-License-Identifier: MIT
 *
 * bfadd - add keys to a live filter, or take them back
 */
#include "cli.h"
#include "keys.h"
#include "output.h"
#include "say.h"
#include "stop.h"

#include <bloomfile.h>
#include <bloomfile_inspect.h>
#include <bloomfile_live.h>

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <sys/stat.h>

enum {
    BATCH = 1024
};
enum {
    OPTION_VERSION = 0x100,
    OPTION_REMOVE,
    OPTION_EXACT,
    OPTION_SYNC,
    OPTION_RESCUE,
    OPTION_ACCEPT_UNCLEAN
};
enum {
    ALL_THERE = 0,
    SOME_ABSENT = 1
};

struct request {
    const char *path, *rescue;
    char *const *inputs;
    int inputs_count;
    struct keys_options keys;
    unsigned open_flags;
    uint64_t sync_every; /* keys; 0: only at the end */
    bool remove, exact, quiet;
};

struct work {
    const struct request *request;
    bloomfile *f;
    uint64_t read, done; /* keys; those that were new, or removed */
    uint64_t unsynced;   /* keys since the last sync */
    uint64_t warned_of;  /* keys in the filter at the last warning */
    unsigned input_errors;
    struct cli_progress progress;
};

static const char help[] =
    "usage: bfadd [options] FILE [KEYFILE...]\n"
    "Add the lines of each KEYFILE, or of standard input, to FILE, a live filter made\n"
    "by 'bfcreate --live'. Any number of programs may add to one file at once.\n"
    "\n"
    "Keys:\n"
    "  -0, --null          keys end with a zero byte, not with a newline\n"
    "  -x, --fixed N       keys are binary records of N bytes\n"
    "      --crlf          a carriage return before a newline is no part of the key\n"
    "\n"
    "What to do:\n"
    "      --remove        take one add of each key back (layout counting)\n"
    "      --exact         of programs that add the same new key at once, only one\n"
    "                      counts it as new, if all of them use --exact\n"
    "      --sync EVERY    write to disk after every EVERY keys, not only at the end\n"
    "      --rescue NEWFILE\n"
    "                      if the disk fails, save what is in memory as this new file\n"
    "\n"
    "Other:\n"
    "      --accept-unclean\n"
    "                      even if FILE was in use when its machine went down\n"
    "  -q, --quiet         errors only: no counts, progress or warnings\n"
    "  -h, --help          print this and exit\n"
    "      --version       print the version and exit\n"
    "\n"
    "The exit status is 0 if all keys are on disk, 1 if --remove met a key that was\n"
    "not there, 2 for trouble.\n"
    "\n"
    "Examples:\n"
    "  bfcreate --live -n 10M seen.bloom\n"
    "  bfadd seen.bloom urls.txt\n"
    "  tail -F access.log | cut -d' ' -f1 | bfadd --sync 10k clients.bloom\n";

/* ------------------------------------------------------------------------------- command line */

static void take_option(struct request *r, int option, const char *value)
{
    switch (option) {
    case OPTION_REMOVE:
        r->remove = true;
        break;
    case OPTION_EXACT:
        r->exact = true;
        r->open_flags |= BLOOMFILE_ADD_EXACT;
        break;
    case OPTION_SYNC:
        if (!cli_parse_count(value, &r->sync_every) || r->sync_every == 0)
            cli_bad_count("--sync", "a number of keys from 1", value);
        break;
    case OPTION_RESCUE:
        r->rescue = value;
        break;
    case OPTION_ACCEPT_UNCLEAN:
        r->open_flags |= BLOOMFILE_ACCEPT_UNCLEAN;
        break;
    case 'q':
        r->quiet = true;
        break;
    case 'h':
        cli_help(help);
    case OPTION_VERSION:
        cli_version();
    }
}

static void parse(struct request *r, int argc, char **argv)
{
    static const struct option options[] = {
        { "null", no_argument, NULL, '0' },
        { "fixed", required_argument, NULL, 'x' },
        { "crlf", no_argument, NULL, KEYS_OPTION_CRLF },
        { "remove", no_argument, NULL, OPTION_REMOVE },
        { "exact", no_argument, NULL, OPTION_EXACT },
        { "sync", required_argument, NULL, OPTION_SYNC },
        { "rescue", required_argument, NULL, OPTION_RESCUE },
        { "accept-unclean", no_argument, NULL, OPTION_ACCEPT_UNCLEAN },
        { "quiet", no_argument, NULL, 'q' },
        { "help", no_argument, NULL, 'h' },
        { "version", no_argument, NULL, OPTION_VERSION },
        { NULL, 0, NULL, 0 },
    };
    int option;
    opterr = 0;
    while ((option = getopt_long(argc, argv, ":" KEYS_SHORT_OPTIONS "qh", options, NULL)) != -1) {
        if (option == '?' || option == ':')
            cli_bad_option(option, argv);
        if (!keys_take_option(&r->keys, option, optarg))
            take_option(r, option, optarg);
    }
    if (optind == argc || argv[optind][0] == '\0')
        cli_usage("the name of the filter file is missing");
    if (r->remove && r->exact)
        cli_usage("--exact is about adding, which --remove does not do");
    r->path = argv[optind];
    r->inputs = argv + optind + 1;
    r->inputs_count = argc - optind - 1;
}

/* Tells before it is too late for another name; the library checks again. */
static void check_rescue(const struct request *r)
{
    struct stat st;
    if (r->rescue != NULL && lstat(r->rescue, &st) == 0)
        cli_fail(EEXIST, "cannot rescue to %s", r->rescue);
}

static bloomfile *open_filter(const struct request *r)
{
    bloomfile *f;
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    int error = bloomfile_open(&f, r->path, BLOOMFILE_WRITE | r->open_flags);
    if (error != 0)
        say_cannot_open(r->path, error);
    bloomfile_get_info(f, &info);
    if (r->remove && info.layout != BLOOMFILE_COUNTING) {
        bloomfile_close(f);
        cli_fail(BLOOMFILE_ENOTCOUNTING, "cannot remove keys from %s", r->path);
    }
    return f;
}

/* -------------------------------------------------------------------------------------- trouble */

static _Noreturn void poisoned(const struct work *w, int error)
{
    const struct request *r = w->request;
    const char *words = bloomfile_strerror(error);
    if (r->rescue == NULL)
        cli_fail(0,
                 "cannot write %s to disk: %s: make it anew from all its keys (--rescue would have"
                 " saved what is in memory)",
                 r->path, words);
    int rescue_error = bloomfile_rescue(r->rescue, w->f, 0);
    if (rescue_error != 0)
        cli_fail(rescue_error,
                 "cannot write %s to disk: %s: make it anew from all its keys; cannot rescue to %s",
                 r->path, words, r->rescue);
    cli_fail(0,
             "cannot write %s to disk: %s: rescued to %s: add the keys since the last sync to that"
             " again (bfadd --accept-unclean), the last %" PRIu64 " here among them",
             r->path, words, r->rescue, w->unsynced);
}

static _Noreturn void fail(const struct work *w, int error, const char *attempt)
{
    if (bloomfile_status(w->f) == BLOOMFILE_EPOISONED)
        poisoned(w, error);
    cli_fail(error, "cannot %s %s", attempt, w->request->path);
}

/* --------------------------------------------------------------------------------------- adding */

static void warn_if_crowded(struct work *w)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    struct bloomfile_measurement measure = BLOOMFILE_MEASUREMENT_INIT;
    if (w->request->quiet || w->request->remove)
        return;
    bloomfile_get_info(w->f, &info);
    bool counted = info.keys_estimated == 0;
    if (counted && (info.keys <= info.capacity || info.keys == w->warned_of))
        return;
    bloomfile_measure(w->f, &measure); /* fails for a wrong struct_size only */
    info.ones = measure.ones;
    if (!counted)
        info.keys = say_estimate(&info, &measure);
    if (info.keys <= info.capacity || info.keys == w->warned_of)
        return;
    say_warnings(w->request->path, &info, (struct say_rate){ measure.fpr, true });
    w->warned_of = info.keys;
}

static void sync_keys(struct work *w)
{
    int error = bloomfile_sync(w->f);
    if (error != 0)
        fail(w, error, "sync");
    w->unsynced = 0;
}

static void remove_keys(struct work *w, const struct bloomfile_key *keys, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int error = bloomfile_remove(w->f, keys[i].data, keys[i].size);
        if (error != 0 && error != BLOOMFILE_EABSENT)
            fail(w, error, "remove keys from");
        w->done += error == 0;
    }
}

static void add_keys(struct work *w, const struct bloomfile_key *keys, size_t n)
{
    size_t new_keys;
    int error = bloomfile_add_many(w->f, keys, n, NULL, &new_keys);
    if (error != 0)
        fail(w, error, "add keys to");
    w->done += new_keys;
}

static void take_keys(struct work *w, const struct bloomfile_key *keys, size_t n)
{
    const struct request *r = w->request;
    w->unsynced += n;
    if (r->remove)
        remove_keys(w, keys, n);
    else
        add_keys(w, keys, n);
    w->read += n;
    if (r->sync_every > 0 && w->unsynced == r->sync_every) {
        sync_keys(w);
        if (w->warned_of == 0)
            warn_if_crowded(w);
    }
}

/* Nothing is added if an input is missing, or is where the counts go. */
static void check_inputs(const struct request *r)
{
    if (!r->quiet)
        output_check_inputs(r->inputs, r->inputs_count);
    keys_free(keys_new(&r->keys, r->inputs, r->inputs_count));
}

/* What becomes of an input later does not keep the others, nor the keys that were added, from
 * getting to disk. */
static void take_input(struct work *w)
{
    const struct request *r = w->request;
    struct keys_options options = r->keys;
    options.keep_going = true;
    struct keys *input = keys_new(&options, r->inputs, r->inputs_count);
    struct bloomfile_key keys[BATCH];
    w->progress.total = keys_total(input);
    w->progress.shown_ns = r->quiet ? -1 : 0;
    for (;;) {
        bool to_sync = r->sync_every > 0 && r->sync_every - w->unsynced < BATCH;
        size_t n = keys_next(input, keys, to_sync ? (size_t)(r->sync_every - w->unsynced) : BATCH);
        if (n == 0)
            break;
        take_keys(w, keys, n);
        w->progress.doing = keys_path(input);
        w->progress.bytes = keys_bytes(input);
        w->progress.keys = w->read;
        cli_progress_step(&w->progress);
    }
    w->input_errors = keys_errors(input);
    keys_free(input);
}

/* --------------------------------------------------------------------------------------- ending */

static void print_counts(const struct work *w)
{
    uint64_t absent = w->read - w->done;
    printf("%" PRIu64 " key%s, %" PRIu64 " %s", w->read, cli_s(w->read), w->done,
           w->request->remove ? "removed" : "new");
    if (w->request->remove)
        printf(", %" PRIu64 " %s not there", absent, absent == 1 ? "was" : "were");
    putchar('\n');
}

static void finish(struct work *w)
{
    cli_progress_end(&w->progress);
    sync_keys(w);
    warn_if_crowded(w);
    bloomfile_close(w->f);
    if (!w->request->quiet)
        print_counts(w);
    if (cli_flush_stdout() == EPIPE && stop_signal == SIGPIPE)
        stop_die(); /* all is done; nobody wants to know */
    cli_close_stdout();
}

int main(int argc, char **argv)
{
    struct request r = { .keys.stoppable = true };
    struct work w = { .request = &r };
    cli_start(argv[0]);
    parse(&r, argc, argv);
    check_rescue(&r);
    check_inputs(&r);
    cli_catch_bus_error(r.path);
    stop_catch();
    w.f = open_filter(&r);
    take_input(&w);
    finish(&w);
    if (stop_signal != 0)
        stop_die();
    if (w.input_errors > 0)
        return CLI_TROUBLE;
    return r.remove && w.done < w.read ? SOME_ABSENT : ALL_THERE;
}
