/* SPDX-License-Identifier: MIT */
#include "uniq_seen.h"
#include "cli.h"
#include "say.h"
#include "uniq_files.h"

#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static struct seen *in_use;

static const char *name_of(const struct seen *s)
{
    return s->path != NULL ? s->path : "the filter in memory";
}

static bool in_generations(const struct seen *s)
{
    return s->plan.generations > 0;
}

static uint64_t capacity_of(const bloomfile *f)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(f, &info);
    return info.capacity;
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
        if (in_generations(s))
            files_load(s);
        else
            s->newest = filter_open_or_create(&s->plan, s->path);
    }
    s->warn_above = capacity_of(s->newest);
}

void seen_sync(struct seen *s)
{
    int error = bloomfile_sync(s->newest);
    if (error != 0)
        cli_fail(error, "cannot write %s to disk", name_of(s));
    if (s->path != NULL && !in_generations(s) && bloomfile_is_stale(s->newest) == 1)
        cli_fail(0, "%s was removed or replaced meanwhile, so what was seen is lost", s->path);
}

void seen_close(void)
{
    struct seen *s = in_use;
    in_use = NULL;
    if (s == NULL)
        return;
    bloomfile_close(s->newest);
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

/* How many keys may be added before it is to be looked whether the next generation begins; at least
 * 1. */
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
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    struct bloomfile_measurement m = BLOOMFILE_MEASUREMENT_INIT;
    uint64_t keys = fill_keys(&s->fill, s->newest, s->warn_above);
    char is[32], promised[32];
    if (keys <= s->warn_above)
        return;
    s->warn_above = keys < UINT64_MAX / 2 ? 2 * keys : UINT64_MAX;
    bloomfile_get_info(s->newest, &info);
    int error = bloomfile_measure(s->newest, &m);
    if (error != 0)
        cli_fail(error, "cannot measure %s", name_of(s));
    cli_warn(0,
             "%s: %" PRIu64 " keys, more than its capacity of %" PRIu64
             ": the false-positive rate is now %s (%s promised)",
             name_of(s), keys, info.capacity, cli_percent(is, sizeof(is), m.fpr),
             cli_percent(promised, sizeof(promised), say_promised(&info)));
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
        cli_fail(error, "cannot go on with an older generation of %s", name_of(s));
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
        cli_fail(error, "cannot add to %s", name_of(s));
    for (size_t i = 0; i < rest.n; i++)
        new_ones[rest.place[i]] = was_new[i];
}

size_t seen_add(struct seen *s, const bloomfile_digest *digests, size_t n, bool *new_ones)
{
    if (!in_generations(s)) {
        add(s, digests, n, new_ones);
        if (!s->quiet)
            warn_of_overflow(s);
        return n;
    }
    if (s->path != NULL && files_have_moved(s))
        files_load(s);
    uint64_t room = make_room(s);
    size_t taken = n < room ? n : (size_t)room;
    add(s, digests, taken, new_ones);
    return taken;
}
