/* SPDX-License-Identifier: MIT
 * The main loop of bfadd: adds the keys of its inputs to the filter, or removes them. */
#include "bfadd/add.h"
#include "cli/cli.h"
#include "cli/interrupt.h"
#include "filters/key_kind.h"
#include "filters/messages.h"
#include "filters/opening.h"
#include "filters/overfull.h"
#include "filters/series.h"

#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <bloomfile_unstable.h>

#include <inttypes.h>
#include <string.h>
#include <unistd.h>

enum {
    DESCRIPTION_SIZE = 5000, /* of an error */
    REMEDY_SIZE = 200
};
enum {
    ALL_THERE = 0,
    SOME_ABSENT = 1
};

struct work {
    const struct add *add;
    bloomfile_filter *f;
    uint64_t read, done; /* keys read; keys that were new, or removed */
    uint64_t taken;      /* number of keys read that the filter accepted: always the first ones */
    bool all_read;       /* the whole input was read */
    bool unclean;        /* the file was unclean, and stays so until all keys are read and synced */
    uint64_t sync_every; /* keys between two syncs; 0: sync at the end only */
    uint64_t unsynced;   /* keys since the last sync */
    struct overfull overfull;
    bool told_overfull;
    unsigned input_errors;
    struct cli_progress progress;
};

/* Ends the program if the keys do not fit. Closes the filter first; otherwise its record would look
 * as if a writer had been killed. */
static void check_kind(const struct work *w)
{
    const struct add *a = w->add;
    char why[KEY_KIND_WHY];
    if (!key_kind_explain(w->f, &a->keys, a->remove ? KEY_KIND_LOOK_UP : KEY_KIND_ADD, why))
        return;
    bloomfile_close(w->f);
    cli_fail(0, "%s %s", a->path, why);
}

static void open_filter(struct work *w)
{
    const struct add *a = w->add;
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    w->f = opening_must(a->path, BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ONE_THREAD | a->open_flags,
                        OPENING_KEYS);
    w->unclean = opening_accepted_unclean(a->path, a->open_flags);
    w->sync_every = w->unclean ? 0 : a->sync_every;
    check_kind(w);
    bloomfile_get_info(w->f, &info);
    if (a->remove && !bloomfile_traits_of(info.layout)->counts) {
        bloomfile_close(w->f);
        cli_fail(0, "cannot remove keys from %s: %s (create it with bfcreate --live -l counting)",
                 a->path, bloomfile_strerror(BLOOMFILE_ENOTCOUNTING));
    }
}

/* --------------------------------------------------------------------------------------- errors */

/* Describes the keys that must be added again after the file is lost: the keys read so far, and
 * those not read because of the error. */
static const char *keys_again(const struct work *w, char text[REMEDY_SIZE])
{
    snprintf(text, REMEDY_SIZE, "%s the %" PRIu64 " key%s of this run again%s",
             w->add->remove ? "remove" : "add", w->read, cli_s(w->read),
             w->all_read ? "" : ", and the rest of the input");
    return text;
}

/* Saves the filter in memory, if --rescue was given; otherwise returns false. If that fails, ends
 * the program with the original error and its remedy. */
static bool rescue(const struct work *w, const char *trouble, const char *remedy)
{
    const struct add *a = w->add;
    if (a->rescue == NULL)
        return false;
    int error = bloomfile_rescue(a->rescue, w->f, 0);
    if (error != 0)
        cli_fail(error, "%s: %s; cannot rescue to %s", trouble, remedy, a->rescue);
    return true;
}

static _Noreturn void poisoned(const struct work *w, int error)
{
    static const char remedy[] = "rebuild it from all its keys";
    const struct add *a = w->add;
    char trouble[DESCRIPTION_SIZE];
    snprintf(trouble, sizeof(trouble), "cannot write %s to disk: %s", a->path,
             bloomfile_strerror(error));
    if (!rescue(w, trouble, remedy))
        cli_fail(0, "%s: %s (next time, add --rescue NEWFILE to save the filter in memory)",
                 trouble, remedy);
    cli_fail(0,
             "%s: rescued to %s (add the keys since the last sync to it again with bfadd "
             "--accept-unclean, including the last %" PRIu64 " of this run%s)",
             trouble, a->rescue, w->unsynced, w->all_read ? "" : ", and the rest of the input");
}

/* The keys were added to a file that no longer has a name. */
static _Noreturn void replaced(const struct work *w)
{
    const struct add *a = w->add;
    char trouble[DESCRIPTION_SIZE], remedy[2 * REMEDY_SIZE], again[REMEDY_SIZE];
    snprintf(trouble, sizeof(trouble), "%s was replaced or removed while it was open for writing",
             a->path);
    snprintf(remedy, sizeof(remedy), "%s, %s the file that is there now", keys_again(w, again),
             a->remove ? "from" : "to");
    if (!rescue(w, trouble, remedy))
        cli_fail(0, "%s: %s (next time, add --rescue NEWFILE to save the filter in memory)",
                 trouble, remedy);
    if (w->all_read)
        cli_fail(0, "%s: rescued to %s with all its keys (use that file, or %s)", trouble,
                 a->rescue, remedy);
    cli_fail(0,
             "%s: rescued to %s after the first %" PRIu64
             " key%s read (use that file, and %s the keys after them; or %s)",
             trouble, a->rescue, w->taken, cli_s(w->taken), a->remove ? "remove" : "add", remedy);
}

/* Ends the program if the error is about the file itself, whatever the operation. */
static void fail_for_file(const struct work *w, int error)
{
    if (error == BLOOMFILE_EREPLACED)
        replaced(w);
    if (error == BLOOMFILE_ECHANGED)
        cli_fail(0,
                 "%s was overwritten while it was open for writing, so keys of earlier runs may be"
                 " missing (rebuild it from all its keys)",
                 w->add->path);
    if (bloomfile_check(w->f) == BLOOMFILE_EPOISONED)
        poisoned(w, error);
}

static _Noreturn void fail(const struct work *w, int error, const char *attempt)
{
    char about[SERIES_TEXT], again[REMEDY_SIZE];
    fail_for_file(w, error);
    if (series_explain_later(w->add->path, w->f, error, about))
        cli_fail(0, "cannot %s %s: %s; then %s", attempt, w->add->path, about,
                 keys_again(w, again));
    cli_fail(error, "cannot %s %s", attempt, w->add->path);
}

/* Syncs the filter. Records the watermark, which belongs to the last key, only if that
 * key was added. */
static void sync_keys(struct work *w)
{
    const bool complete = w->all_read && w->taken == w->read && w->read > 0;
    int error = bloomfile_sync(w->f, complete ? w->add->metadata.given.watermark : NULL);
    if (error != 0)
        fail(w, error, "sync");
    w->unsynced = 0;
}

static void tell_unclean(const struct work *w)
{
    cli_note(0, "%s remains unclean, because %s (add all keys since its last sync again)",
             w->add->path,
             w->all_read && w->read == 0 ? "no key was read" : "not all of the input was added");
}

/* Saves the keys that were added, before the program ends with an error. */
static void save(struct work *w)
{
    if (w->unclean) {
        tell_unclean(w);
        return;
    }
    sync_keys(w);
    const int finished = bloomfile_finish(w->f);
    if (finished != 0)
        fail(w, finished, "finish writing");
}

static const char *on_disk(const struct work *w)
{
    return w->unclean ? "" : " and on disk";
}

/* `before`: the number of keys that were added. */
static _Noreturn void cannot_grow(struct work *w, uint64_t before, int error)
{
    const char *path = w->add->path;
    char about[SERIES_TEXT];
    const char *words =
        series_explain_later(path, w->f, error, about) ? about : bloomfile_strerror(error);
    save(w);
    cli_fail(0,
             "cannot add a layer to %s: %s; no keys were lost, and the first %" PRIu64
             " key%s read are in it%s (fix this, then add the keys after them)",
             path, words, before, cli_s(before), on_disk(w));
}

static _Noreturn void over_capacity(struct work *w, uint64_t before)
{
    char text[DESCRIPTION_SIZE];
    overfull_describe(w->f, text, sizeof(text));
    save(w);
    cli_fail(0,
             "cannot add to %s: %s; the first %" PRIu64
             " key%s read are in it%s (build a larger filter from all keys, or a growing"
             " filter: bfcreate --live --grow NEWFILE; to add the rest anyway: --overfull)",
             w->add->path, text, before, cli_s(before), on_disk(w));
}

/* --------------------------------------------------------------------------------------- adding */

/* Warns that the filter is over capacity. Warns immediately, because the input may never end, and
 * again at the end. */
static void watch_rate(struct work *w, bool at_end)
{
    const struct add *a = w->add;
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    if (a->remove || a->quiet || (w->told_overfull && !at_end) ||
        !overfull_look(&w->overfull, w->f, at_end))
        return;
    w->told_overfull = true;
    bloomfile_get_info(w->f, &info);
    info.keys = w->overfull.keys;
    info.keys_estimated = w->overfull.fill.estimated;
    info.ones = w->overfull.ones;
    message_warnings(a->path, &info, (struct message_rate){ w->overfull.rate, true });
}

static void remove_keys(struct work *w, const struct bloomfile_key *keys, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        int error = bloomfile_remove(w->f, keys[i].data, keys[i].size);
        if (error != 0 && error != BLOOMFILE_EABSENT)
            fail(w, error, "remove keys from");
        w->done += error == 0;
        w->taken++;
    }
}

static void add_keys(struct work *w, const struct bloomfile_key *keys, size_t n)
{
    size_t new_keys, done;
    int error = bloomfile_add_many(w->f, keys, n, NULL, &new_keys, &done);
    const uint64_t before = w->taken += done;
    w->done += new_keys;
    if (error == BLOOMFILE_EFULL)
        over_capacity(w, before);
    if (error != 0)
        fail_for_file(w, error);
    if (error != 0 && bloomfile_layers(w->f) > 0)
        cannot_grow(w, before, error);
    if (error != 0)
        fail(w, error, "add keys to");
}

static void take_keys(struct work *w, const struct bloomfile_key *keys, size_t n)
{
    const struct add *a = w->add;
    w->unsynced += n;
    w->read += n;
    if (a->remove)
        remove_keys(w, keys, n);
    else
        add_keys(w, keys, n);
    if (w->sync_every > 0 && w->unsynced == w->sync_every) {
        sync_keys(w);
        watch_rate(w, false);
    }
}

/* An error of an input must not stop the other inputs, or keep added keys from
 * reaching the disk. */
static void take_input(struct work *w)
{
    const struct add *a = w->add;
    struct keys_options options = a->keys;
    options.keep_going = true;
    key_kind_fold(w->f, &options);
    struct keys *input = keys_new(&options, a->inputs.list, a->inputs.count);
    struct bloomfile_key keys[KEYS_BATCH];
    w->progress.total = keys_total(input);
    w->progress.shown_ns = a->quiet ? -1 : 0;
    for (;;) {
        bool to_sync = w->sync_every > 0 && w->sync_every - w->unsynced < KEYS_BATCH;
        size_t n =
            keys_next(input, keys, to_sync ? (size_t)(w->sync_every - w->unsynced) : KEYS_BATCH);
        if (n == 0)
            break;
        take_keys(w, keys, n);
        w->progress.doing = keys_path(input);
        w->progress.bytes = keys_bytes(input);
        w->progress.keys = w->read;
        cli_progress_step(&w->progress);
    }
    cli_progress_end(&w->progress);
    keys_tell_skipped(input, w->read, a->quiet);
    w->input_errors = keys_errors(input);
    w->all_read = w->input_errors == 0 && interrupt_signal == 0;
    keys_free(input);
}

/* --------------------------------------------------------------------------------------- ending */

static void report(const struct work *w)
{
    const struct add *a = w->add;
    const uint64_t absent = w->read - w->done;
    if (a->quiet || !(a->verbose || isatty(STDERR_FILENO)))
        return;
    if (a->remove)
        cli_note(0, "%s: %" PRIu64 " key%s, %" PRIu64 " removed, %" PRIu64 " %s not found", a->path,
                 w->read, cli_s(w->read), w->done, absent, absent == 1 ? "was" : "were");
    else
        cli_note(0, "%s: %" PRIu64 " key%s, %" PRIu64 " new", a->path, w->read, cli_s(w->read),
                 w->done);
}

static void finish(struct work *w)
{
    if (w->unclean && (!w->all_read || w->read == 0)) {
        bloomfile_close(w->f);
        tell_unclean(w);
        w->input_errors += w->all_read;
        return;
    }
    sync_keys(w);
    if (w->all_read && w->read == 0 && w->add->metadata.given.watermark != NULL)
        cli_warn("the input has no keys, so the watermark is not recorded (did the program that "
                 "writes the keys fail?)");
    watch_rate(w, true);
    int error = bloomfile_finish(w->f);
    if (error != 0)
        fail(w, error, "finish writing");
    bloomfile_close(w->f);
    report(w);
}

int add_all(const struct add *a)
{
    struct work w = { .add = a };
    open_filter(&w);
    overfull_begin(&w.overfull, w.f);
    take_input(&w);
    finish(&w);
    if (interrupt_signal != 0)
        interrupt_die();
    if (w.input_errors > 0)
        return CLI_ERROR;
    return a->remove && w.done < w.read ? SOME_ABSENT : ALL_THERE;
}
