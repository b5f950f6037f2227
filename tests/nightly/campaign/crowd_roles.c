/* SPDX-License-Identifier: MIT
 * The roles of the processes of a crowd. */
#include "../../unit/places.h"
#include "crowd.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bloomfile_combine.h>
#include <bloomfile_delta.h>
#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <bloomfile_open.h>

static void expect(const char *what, int error)
{
    if (error != 0)
        found("%s: %s", what, bloomfile_errname(error));
}

/* Also ends writing. */
static void leave(bloomfile_filter *f, unsigned epoch)
{
    enter_sync();
    const int error = bloomfile_finish(f);
    leave_sync();
    allow("finishing", error, f, epoch);
    bloomfile_close(f);
}

/* ------------------------------------------------------------------ writers */

struct writing {
    bloomfile_filter *f;
    unsigned epoch;
    atomic_bool leave; /* set for all threads */
};

struct worker {
    struct writing *writing;
    unsigned number, thread;
    uint64_t seed;
};

static int add_one_by_one(bloomfile_filter *f, struct progress *p, const uint64_t *ids,
                          const uint64_t *digests, size_t n, bool *was_new, bool by_digest)
{
    const uint64_t begun = time_begin();
    for (size_t i = 0; i < n; i++) {
        const int error = by_digest ? bloomfile_add_digest(f, digests[i], &was_new[i])
                                    : bloomfile_add(f, &ids[i], sizeof ids[i], &was_new[i]);
        if (i == 0)
            time_end(true, begun);
        if (error != 0)
            return error;
        if (!forgets()) {
            p->fresh += was_new[i];
            p->added++;
        }
    }
    return 0;
}

static int add_together(bloomfile_filter *f, const uint64_t *ids, const uint64_t *digests, size_t n,
                        bool *was_new, bool by_digest)
{
    struct bloomfile_key keys[BATCH_MOST];
    size_t told = 0, sum = 0;
    for (size_t i = 0; i < n; i++)
        keys[i] = (struct bloomfile_key){ &ids[i], sizeof ids[i] };
    const int error = by_digest ? bloomfile_add_digests(f, digests, n, was_new, &told, NULL)
                                : bloomfile_add_many(f, keys, n, was_new, &told, NULL);
    for (size_t i = 0; i < n; i++)
        sum += was_new[i];
    if (error == 0 && sum != told)
        found("of %zu keys %zu were new, and %zu in sum", n, sum, told);
    return error;
}

static void note_batch(unsigned w, uint64_t number, uint64_t layer, const bool *was_new)
{
    struct note *note = &crowd->notes[w][number % NOTES];
    uint64_t fresh = 0;
    for (unsigned i = 0; i < NOTE_KEYS; i++)
        fresh |= (uint64_t)was_new[i] << i;
    note->number = 0;
    note->layer = layer;
    note->fresh = fresh;
    note->number = number;
}

/* The next keys. A killed process may have added some of them already. */
static int add_some(const struct writing *s, unsigned w, struct progress *p)
{
    uint64_t ids[BATCH_MOST], digests[BATCH_MOST];
    bool was_new[BATCH_MOST] = { false };
    const uint64_t from = p->added, left = quota() - from;
    size_t n = forgets() ? NOTE_KEYS : 1 + (size_t)below(crowd->plan.batch);
    n = n < left ? n : (size_t)left;
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    if (forgets())
        expect("bloomfile_get_info", bloomfile_get_info(s->f, &info));
    for (size_t i = 0; i < n; i++) {
        ids[i] = key_id(s->epoch, w, from + i);
        digests[i] = key_digest(s->epoch, w, from + i);
    }
    const bool single = below(5) == 0, by_digest = below(3) != 0;
    const int error = single ? add_one_by_one(s->f, p, ids, digests, n, was_new, by_digest)
                             : add_together(s->f, ids, digests, n, was_new, by_digest);
    if (error != 0)
        return error;
    tally[ADDS] += n;
    for (size_t i = 0; i < n && (!single || forgets()); i++)
        p->fresh += was_new[i];
    if (forgets())
        note_batch(w, from / NOTE_KEYS + 1, info.layer, was_new);
    p->added = from + n;
    return 0;
}

static int add_common(const struct writing *s, struct progress *p)
{
    const unsigned i = p->common;
    bool was_new;
    if (i == COMMON_KEYS || forgets())
        return 0;
    const int error = bloomfile_add_digest(s->f, key_digest(s->epoch, COMMON, i), &was_new);
    if (error != 0)
        return error;
    tally[ADDS]++;
    p->fresh += was_new;
    if (was_new && atomic_fetch_add(&era(s->epoch)->told[i], 1) > 0 && crowd->plan.exact != 0)
        found("common key %u was new to two exact adders", i);
    p->common = i + 1;
    return 0;
}

/* Removes the oldest keys, down to the limit. */
static int remove_some(const struct writing *s, unsigned w, struct progress *p)
{
    const uint64_t kept = quota() / 4;
    for (unsigned i = 0; i < 2 * crowd->plan.batch && p->added - p->removing > kept; i++) {
        const uint64_t number = p->removing++;
        const int error = bloomfile_remove_digest(s->f, key_digest(s->epoch, w, number));
        if (error != 0)
            return error;
        tally[REMOVES]++;
    }
    return 0;
}

static int sync_at_times(const struct writing *s)
{
    if (crowd->plan.syncs == 0 || below(crowd->plan.syncs) != 0)
        return 0;
    enter_sync();
    const int error = bloomfile_sync(s->f, NULL);
    leave_sync();
    tally[SYNCS] += error == 0;
    return error;
}

/* One turn of a worker. Returns 0, or an error that ends its work with this handle. */
static int turn(const struct writing *s, unsigned w, struct progress *p)
{
    int error = add_some(s, w, p);
    if (error == 0)
        error = add_common(s, p);
    if (error == 0 && crowd->plan.layout == BLOOMFILE_LAYOUT_COUNTING)
        error = remove_some(s, w, p);
    if (error == 0 && below(4) == 0)
        look(s->f, s->epoch);
    return error != 0 ? error : sync_at_times(s);
}

static void *work(void *argument)
{
    const struct worker *me = argument;
    struct writing *s = me->writing;
    struct progress *p = &era(s->epoch)->progress[me->number];
    chance_begin(me->seed);
    thread = me->thread;
    tally = here->tallies[thread];
    for (uint64_t turns = 0; !s->leave && !crowd->over && p->added < quota(); turns++) {
        int error = turn(s, me->number, p);
        if (error == 0 && turns % 64 == 0)
            error = bloomfile_check(s->f);
        allow("writing", error, s->f, s->epoch);
        if (error != 0 || below(3000) == 0 || (turns % 64 == 0 && bloomfile_is_stale(s->f)))
            s->leave = true;
    }
    return NULL;
}

static void write_with(bloomfile_filter *f, unsigned epoch, unsigned process)
{
    struct writing s = { .f = f, .epoch = epoch };
    struct worker members[THREADS];
    pthread_t threads[THREADS];
    for (unsigned i = 0; i < crowd->plan.threads; i++) {
        members[i] = (struct worker){ &s, process * crowd->plan.threads + i, i, chance() };
        expect("pthread_create", pthread_create(&threads[i], NULL, work, &members[i]));
    }
    for (unsigned i = 0; i < crowd->plan.threads; i++)
        expect("pthread_join", pthread_join(threads[i], NULL));
    leave(f, epoch);
}

static bool has_done(unsigned process, unsigned epoch)
{
    for (unsigned i = 0; i < crowd->plan.threads; i++)
        if (era(epoch)->progress[process * crowd->plan.threads + i].added < quota())
            return false;
    return true;
}

/* Leaks on purpose, to show that a soak notices it. */
static void leak(void)
{
    if (crowd->plan.leak == 1 && dup(0) < 0)
        found("dup: %s", strerror(errno));
    if (crowd->plan.leak == 2 &&
        mmap(NULL, 4096, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1, 0) == MAP_FAILED)
        found("mmap: %s", strerror(errno));
    static void *volatile memory; /* so that the compiler keeps the allocation */
    if (crowd->plan.leak == 3 && (memory = malloc(65536)) != NULL)
        memset(memory, 1, 65536);
}

/* Reads until the filter should be reopened. */
static void query_once(unsigned rounds)
{
    unsigned epoch;
    bloomfile_filter *f = open_present(0, &epoch);
    if (f == NULL)
        return;
    tally[RELOADS]++;
    leak();
    for (unsigned i = 0; i < rounds && !crowd->over; i++) {
        look(f, epoch);
        if (i % 16 != 0)
            continue;
        const int error = bloomfile_check(f);
        allow("looking up", error, f, epoch);
        if (error != 0 || bloomfile_is_stale(f))
            break;
    }
    bloomfile_close(f);
}

void write_for_ever(unsigned process)
{
    const unsigned flags = BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_OVER_CAPACITY |
                           (crowd->plan.exact != 0 ? BLOOMFILE_OPEN_ADD_EXACT : 0);
    while (!crowd->over) {
        unsigned epoch;
        rest();
        if (has_done(process, crowd->epoch)) {
            query_once(200);
            continue;
        }
        bloomfile_filter *f = open_present(flags, &epoch);
        if (f == NULL)
            usleep(1000);
        else
            write_with(f, epoch, process);
    }
}

void query_for_ever(void)
{
    while (!crowd->over) {
        rest();
        query_once(1000000);
    }
}

/* ------------------------------------------------------------------ copies */

struct copying {
    bloomfile_filter *f; /* live, or sealed meanwhile */
    unsigned epoch;
    unsigned before; /* the epoch of the last copy, or NO_EPOCH */
    char copy[40], older[40], result[40], patch[40];
};

static void check_copy(const struct copying *c, const char *what, const char *path,
                       const struct told *told)
{
    bloomfile_filter *f;
    const int error = bloomfile_open(&f, path, BLOOMFILE_OPEN_VERIFY_FULL);
    if (error != 0)
        found("%s: %s", what, bloomfile_errname(error));
    check_all(what, f, c->f, c->epoch, told);
    bloomfile_close(f);
}

static void check_image(const struct copying *c, const char *what, void *image, size_t size,
                        const struct told *told)
{
    bloomfile_filter *f;
    const struct bloomfile_source from = bloomfile_from_memory(image, size);
    struct bloomfile_open_params how = BLOOMFILE_OPEN_PARAMS_INIT;
    how.flags = BLOOMFILE_OPEN_VERIFY_FULL;
    const int error = bloomfile_open_with(&f, &from, &how);
    if (error != 0)
        found("%s: %s", what, bloomfile_errname(error));
    check_all(what, f, c->f, c->epoch, told);
    bloomfile_close(f);
    bloomfile_free(image);
}

static int copy(struct copying *c)
{
    const struct told told = told_now(c->epoch);
    if (c->before != NO_EPOCH && rename(c->copy, c->older) != 0)
        found("%s cannot be renamed", c->copy);
    c->before = NO_EPOCH;
    const int error = bloomfile_copy_sealed(TO_PATH(c->copy, BLOOMFILE_TO_REPLACE), c->f, NULL);
    if (error != 0)
        return error;
    check_copy(c, "a sealed copy", c->copy, &told);
    c->before = c->epoch;
    tally[COPIES]++;
    return 0;
}

static int copy_to_memory(struct copying *c)
{
    const struct told told = told_now(c->epoch);
    void *image;
    size_t size;
    const int error = copy_memory(&image, &size, c->f);
    if (error != 0)
        return error;
    check_image(c, "a sealed copy in memory", image, size, &told);
    tally[COPIES]++;
    return 0;
}

static int fold(struct copying *c)
{
    const struct told told = told_now(c->epoch);
    size_t count = 0;
    int error = bloomfile_fold_plan(c->f, 0, NULL, &count);
    if (error != 0)
        return error;
    struct bloomfile_fold_choice *choices = calloc(count, sizeof *choices);
    if (choices == NULL)
        found("no memory");
    error = bloomfile_fold_plan(c->f, 0, choices, &count);
    const uint64_t factor = choices[below(count < 12 ? count : 12)].factor;
    free(choices);
    if (error == 0)
        error = bloomfile_fold(TO_PATH(c->result, BLOOMFILE_TO_REPLACE), c->f, factor, NULL);
    if (error != 0)
        return error;
    check_copy(c, "a folded copy", c->result, &told);
    tally[FOLDS]++;
    return 0;
}

/* Merges with an older copy, all of whose keys are in the filter. */
static int merge(struct copying *c)
{
    bloomfile_filter *older;
    if (c->before != c->epoch)
        return 0;
    const struct told told = told_now(c->epoch);
    expect("opening a copy", bloomfile_open(&older, c->copy, 0));
    const bloomfile_filter *both[] = { older, c->f };
    struct bloomfile_merge_params params = BLOOMFILE_MERGE_PARAMS_INIT;
    params.max_fpr = 1;
    const int error = bloomfile_merge(TO_PATH(c->result, BLOOMFILE_TO_REPLACE), both, 2, &params);
    bloomfile_close(older);
    if (error != 0)
        return error;
    check_copy(c, "a union", c->result, &told);
    tally[MERGES]++;
    return 0;
}

static int project(struct copying *c)
{
    if (crowd->plan.layout != BLOOMFILE_LAYOUT_COUNTING)
        return 0;
    const struct told told = told_now(c->epoch);
    const int error = bloomfile_project(TO_PATH(c->result, BLOOMFILE_TO_REPLACE), c->f, NULL);
    if (error != 0)
        return error;
    check_copy(c, "a projection", c->result, &told);
    tally[PROJECTIONS]++;
    return 0;
}

static bool same_bytes(const char *one, const char *other)
{
    char a[4096], b[sizeof a];
    FILE *first = fopen(one, "re"), *second = fopen(other, "re");
    if (first == NULL || second == NULL)
        found("%s or %s cannot be read", one, other);
    bool same = true;
    for (size_t n = 1; same && n > 0;) {
        n = fread(a, 1, sizeof a, first);
        same = fread(b, 1, sizeof b, second) == n && memcmp(a, b, n) == 0;
    }
    (void)fclose(first);
    (void)fclose(second);
    return same;
}

static void apply(const struct copying *c, const bloomfile_filter *base)
{
    const int fd = open(c->patch, O_RDONLY | O_CLOEXEC);
    expect("bloomfile_patch",
           bloomfile_patch(TO_PATH(c->result, BLOOMFILE_TO_REPLACE), base, FROM_FD(fd), 1));
    close(fd);
    if (!same_bytes(c->result, c->copy))
        found("a patched copy has other bytes");
    tally[DELTAS]++;
}

/* Makes a second copy from the first by a patch. */
static int patch(struct copying *c)
{
    bloomfile_filter *base, *result;
    if (c->before != c->epoch)
        return 0;
    int error = copy(c);
    if (error != 0)
        return error;
    expect("opening a base", bloomfile_open(&base, c->older, 0));
    expect("opening a result", bloomfile_open(&result, c->copy, 0));
    const bool grown = bloomfile_layers(base) != bloomfile_layers(result);
    error = bloomfile_delta(TO_PATH(c->patch, BLOOMFILE_TO_REPLACE), base, result, 1);
    if (error == 0)
        apply(c, base);
    else if (error != BLOOMFILE_EDIFFERENTBITS || !grown)
        found("bloomfile_delta: %s", bloomfile_errname(error));
    bloomfile_close(base);
    bloomfile_close(result);
    return 0;
}

static int rescue(struct copying *c)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    expect("bloomfile_get_info", bloomfile_get_info(c->f, &info));
    if (info.state == BLOOMFILE_STATE_SEALED)
        return 0;
    const struct told told = told_now(c->epoch);
    int error = bloomfile_rescue(c->result, c->f, BLOOMFILE_TO_REPLACE);
    if (error == BLOOMFILE_ESEALED && crowd->plan.seals != 0)
        return 0;
    if (error != 0)
        return error;
    bloomfile_filter *f;
    error = bloomfile_open(&f, c->result, BLOOMFILE_OPEN_WRITE);
    if (error == BLOOMFILE_EUNCLEAN && era(c->epoch)->unclean > 0)
        error = bloomfile_open(&f, c->result, BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
    expect("opening what was rescued", error);
    check_all("what was rescued", f, c->f, c->epoch, &told);
    expect("finishing what was rescued", bloomfile_finish(f));
    bloomfile_close(f);
    tally[RESCUES]++;
    return 0;
}

void copy_for_ever(unsigned process)
{
    static int (*const of_series[])(struct copying *) = { copy, copy_to_memory, patch };
    static int (*const of_one[])(struct copying *) = {
        copy, copy_to_memory, fold, merge, project, patch, rescue,
    };
    const bool series = crowd->plan.series != 0;
    int (*const *const ways)(struct copying *) = series ? of_series : of_one;
    const size_t count = (series ? sizeof of_series : sizeof of_one) / sizeof *ways;
    struct copying c = { .before = NO_EPOCH };
    snprintf(c.copy, sizeof c.copy, "copy-%u", process);
    snprintf(c.older, sizeof c.older, "older-%u", process);
    snprintf(c.result, sizeof c.result, "result-%u", process);
    snprintf(c.patch, sizeof c.patch, "patch-%u", process);
    while (!crowd->over) {
        rest();
        const bool writes = below(4) == 0;
        c.f = open_present(writes ? BLOOMFILE_OPEN_WRITE : 0, &c.epoch);
        int error = 0;
        for (uint64_t n = 1 + below(3); c.f != NULL && n > 0 && error == 0 && !crowd->over; n--) {
            if (writes)
                enter_sync();
            error = ways[below(count)](&c);
            if (writes)
                leave_sync();
            allow("copying", error, c.f, c.epoch);
        }
        if (c.f != NULL && writes)
            leave(c.f, c.epoch);
        else if (c.f != NULL)
            bloomfile_close(c.f);
        usleep((useconds_t)below(20000));
    }
}

/* ------------------------------------------------------------------ the maker of new filters */

static void seal(unsigned epoch)
{
    for (unsigned attempts = 0; attempts < 100 && !crowd->over; attempts++) {
        unsigned opened;
        bloomfile_filter *f = open_present(BLOOMFILE_OPEN_WRITE, &opened);
        if (f == NULL || opened != epoch) {
            bloomfile_close(f);
            return;
        }
        enter_sync();
        const int error = bloomfile_seal(f, NULL);
        leave_sync();
        if (error != EBUSY)
            allow("sealing", error, f, epoch);
        if (error == 0) {
            const struct told told = told_now(epoch);
            check_all("a filter sealed in place", f, f, epoch, &told);
            check_counts("a filter sealed in place", f, epoch);
            expect("verifying what was sealed", bloomfile_verify(f, 1, NULL));
            tally[SEALS]++;
        }
        leave(f, epoch);
        if (error == 0)
            return;
        usleep(2000);
    }
}

static void remove_series(unsigned epoch)
{
    char path[60];
    for (unsigned layer = 0; layer < 40; layer++) {
        snprintf(path, sizeof path, layer == 0 ? "%s" : "%s.%u", path_of(epoch), layer);
        unlink(path);
    }
}

static void make(unsigned epoch)
{
    bloomfile_filter *f;
    const struct bloomfile_params params = params_of(epoch);
    const bool aside = crowd->plan.series == 0 && below(2) != 0;
    memset(era(epoch), 0, sizeof *era(epoch));
    atomic_store(&here->opening, 1);
    enter_sync();
    expect("bloomfile_create",
           bloomfile_create(&f, aside ? "next" : path_of(epoch), &params, BLOOMFILE_TO_REPLACE));
    atomic_store(&here->epoch, epoch);
    leave_sync();
    atomic_store(&here->opening, 0);
    if (aside && rename("next", path_of(epoch)) != 0)
        found("the next filter cannot be renamed");
    atomic_store(&crowd->epoch, epoch);
    leave(f, epoch);
    tally[REPLACES]++;
}

static void replace(unsigned epoch)
{
    unsigned opened;
    if (crowd->plan.seals != 0)
        seal(epoch);
    bloomfile_filter *old = open_present(0, &opened);
    if (old == NULL)
        return;
    if (opened != epoch) { /* made by a process that was killed then */
        atomic_store(&crowd->epoch, opened);
        bloomfile_close(old);
        return;
    }
    make(epoch + 1);
    const struct told told = told_now(epoch);
    check_all("a filter that was replaced", old, old, epoch, &told);
    tally[GROWS] += bloomfile_layers(old) > 0 ? bloomfile_layers(old) - 1 : 0;
    bloomfile_close(old);
    if (crowd->plan.series != 0 && epoch > 0)
        remove_series(epoch - 1);
}

void make_for_ever(void)
{
    while (!crowd->over) {
        const unsigned epoch = crowd->epoch;
        if ((all_done(epoch) || (!forgets() && below(1000) == 0)))
            replace(epoch);
        usleep(1000);
    }
}
