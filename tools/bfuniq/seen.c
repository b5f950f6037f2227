/* SPDX-License-Identifier: MIT
 * Whether a line has been seen, in the filter or in its older generations. */
#include "bfuniq/seen.h"
#include "bfuniq/files.h"
#include "shared/cli.h"
#include "shared/say.h"

#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    DESCRIPTION_SIZE = 5000 /* of trouble with a file */
};

static struct seen *in_use;

static bool in_generations(const struct seen *s)
{
    return s->plan.generations > 0;
}

/* -------------------------------------------------------------------------- opening and closing */

static void open_memory(struct seen *s)
{
    s->newest = filter_create(&s->plan, NULL);
    filter_follow(&s->plan, s->newest);
    if (!in_generations(s))
        return;
    s->older = calloc(s->plan.generations, sizeof(s->older[0]));
    if (s->older == NULL)
        cli_fail(ENOMEM, "cannot hold %u generations", s->plan.generations);
}

void seen_open(struct seen *s)
{
    in_use = s;
    if (atexit(seen_close) != 0)
        cli_fail(ENOMEM, "cannot start");
    if (s->path == NULL) {
        open_memory(s);
    } else {
        cli_catch_bus_error(s->path);
        if (in_generations(s)) {
            files_load(s);
        } else {
            files_check_unused(s);
            s->newest = filter_open_or_create(&s->plan, s->path);
        }
    }
    crowd_begin(&s->crowd, s->newest);
    s->warn_above = s->crowd.capacity;
}

void seen_finish(struct seen *s)
{
    state_write_out(s);
    if (s->path == NULL || bloomfile_is_stale(s->newest) == 0)
        return;
    if (!in_generations(s) || files_are_gone(s))
        cli_fail(
            0,
            "%s was removed or replaced meanwhile, so what was seen is lost: the next run prints"
            " it again",
            s->path);
}

static void close_newest(const struct seen *s)
{
    if (s->newest == NULL)
        return;
    bool told = bloomfile_status(s->newest) != 0;
    int error = s->finished ? 0 : bloomfile_finish(s->newest);
    if (error != 0 && !told)
        cli_warn(0, "cannot write %s to disk: %s%s", state_name(s), bloomfile_strerror(error),
                 state_remedy(s));
    bloomfile_close(s->newest);
}

void seen_close(void)
{
    struct seen *s = in_use;
    in_use = NULL;
    if (s == NULL)
        return;
    close_newest(s);
    for (unsigned i = 0; i < s->older_count; i++)
        bloomfile_close(s->older[i].f);
    free(s->older);
}

/* -------------------------------------------------------------------------------------- filling */

static void rotate(struct seen *s)
{
    if (s->path != NULL) {
        files_rotate(s);
        return;
    }
    unsigned most = s->plan.generations - 1;
    if (s->older_count == most)
        bloomfile_close(s->older[--s->older_count].f);
    memmove(s->older + 1, s->older, s->older_count * sizeof(s->older[0]));
    s->older[0].f = s->newest;
    s->older_count++;
    s->newest = filter_create(&s->plan, NULL);
}

/* How many keys may be added before checking whether the next generation begins; at least 1. */
static uint64_t make_room(struct seen *s)
{
    uint64_t capacity = s->plan.params.capacity, keys;
    while ((keys = fill_keys(&s->fill, s->newest, capacity)) >= capacity)
        rotate(s);
    uint64_t room = capacity - keys;
    return room < s->fill.left ? room : s->fill.left;
}

static void warn_of_overflow(struct seen *s)
{
    const struct crowd *c = &s->crowd;
    char is[32], promised[32];
    if (c->keys <= s->warn_above)
        return;
    s->warn_above = c->keys < UINT64_MAX / 2 ? 2 * c->keys : UINT64_MAX;
    if (s->quiet)
        return;
    cli_warn(0,
             "%s: %" PRIu64 " keys, more than its capacity of %" PRIu64
             ": the false-positive rate is now %s (%s promised)",
             state_name(s), c->keys, c->capacity, cli_percent(is, sizeof(is), c->rate),
             cli_percent(promised, sizeof(promised), c->promised));
}

/* Lines are being lost, but those not read yet can be saved. */
static _Noreturn void stop_overfull(const struct seen *s, uint64_t taken)
{
    char text[DESCRIPTION_SIZE];
    cli_fail(0,
             "%s: stopped after %" PRIu64 " line%s: begin anew with%s a larger -n (--overfull"
             " goes on)",
             crowd_describe(&s->crowd, state_name(s), text, sizeof(text)), taken, cli_s(taken),
             s->path != NULL ? " another file and" : "");
}

void seen_watch(struct seen *s, uint64_t taken)
{
    if (in_generations(s))
        return;
    enum crowd_state state = crowd_look(&s->crowd, s->newest, false);
    if (state == CROWD_OVER && !s->overfull)
        stop_overfull(s, taken);
    if (state == CROWD_NONE)
        return;
    warn_of_overflow(s);
    if (s->overfull)
        s->crowd.next = s->warn_above;
}

/* --------------------------------------------------------------------------------------- adding */

uint64_t seen_seed(const struct seen *s)
{
    return bloomfile_seed(s->newest);
}

/* A generation may be forgotten before the key's turn comes. */
void seen_ask(const struct seen *s, const bloomfile_digest *digests, size_t n, bool *new_ones)
{
    if (in_generations(s)) {
        memset(new_ones, true, n);
        return;
    }
    (void)bloomfile_contains_digests(s->newest, digests, n, new_ones);
    for (size_t i = 0; i < n; i++)
        new_ones[i] = !new_ones[i];
}

/* Keys that nothing has answered for yet, with their places in the batch. */
struct rest {
    bloomfile_digest digests[SEEN_BATCH];
    size_t place[SEEN_BATCH];
    size_t n;
};

static void ask_older(const struct seen *s, const bloomfile *f, struct rest *rest, bool *new_ones)
{
    bool hits[SEEN_BATCH];
    size_t kept = 0;
    (void)bloomfile_contains_digests(f, rest->digests, rest->n, hits);
    int error = bloomfile_status(f);
    if (error != 0)
        cli_fail(error, "cannot go on with an older generation of %s", state_name(s));
    for (size_t i = 0; i < rest->n; i++) {
        new_ones[rest->place[i]] = !hits[i];
        if (hits[i])
            continue;
        rest->digests[kept] = rest->digests[i];
        rest->place[kept++] = rest->place[i];
    }
    rest->n = kept;
}

static void add(struct seen *s, const bloomfile_digest *digests, size_t n, bool *new_ones)
{
    struct rest rest = { .n = 0 };
    bool was_new[SEEN_BATCH];
    for (size_t i = 0; i < n; i++) {
        rest.digests[rest.n] = digests[i];
        rest.place[rest.n] = i;
        rest.n += new_ones[i];
    }
    for (unsigned i = 0; i < s->older_count; i++)
        ask_older(s, s->older[i].f, &rest, new_ones);
    int error = bloomfile_add_digests(s->newest, rest.digests, rest.n, was_new, NULL);
    if (error != 0)
        cli_fail(error, "cannot add to %s", state_name(s));
    for (size_t i = 0; i < rest.n; i++)
        new_ones[rest.place[i]] = was_new[i];
}

static size_t add_some(struct seen *s, const bloomfile_digest *digests, size_t n, uint64_t room,
                       bool *new_ones)
{
    size_t taken = n < room ? n : (size_t)room;
    add(s, digests, taken, new_ones);
    return taken;
}

size_t seen_add(struct seen *s, const bloomfile_digest *digests, size_t n, bool *new_ones)
{
    if (!in_generations(s))
        return add_some(s, digests, n, crowd_room(&s->crowd, s->newest), new_ones);
    if (s->path != NULL && files_have_moved(s))
        files_load(s);
    return add_some(s, digests, n, make_room(s), new_ones);
}
