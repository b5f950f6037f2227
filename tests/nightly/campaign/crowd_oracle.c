/* SPDX-License-Identifier: MIT
 * The results reported to a crowd, and the check that filters agree with them. */
#include "crowd.h"

#include <dirent.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include <bloomfile_inline.h>
#include <bloomfile_inspect.h>
#include <bloomfile_live.h>

#define RATE 1e-4

struct crowd *crowd;
struct place *here;
_Thread_local uint64_t *tally;
_Thread_local unsigned thread;
static _Thread_local uint64_t state;

void found(const char *format, ...)
{
    if (!atomic_exchange(&crowd->found, true)) {
        va_list arguments;
        va_start(arguments, format);
        vsnprintf(crowd->message, sizeof crowd->message, format, arguments);
        va_end(arguments);
    }
    _exit(3);
}

/* ---- chance (SplitMix64) */

void chance_begin(uint64_t seed)
{
    state = seed;
}

uint64_t chance(void)
{
    uint64_t x = state += 0x9E3779B97F4A7C15u;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

uint64_t below(uint64_t n)
{
    return (chance() >> 32) * n >> 32;
}

/* ---- times */

uint64_t time_begin(void)
{
    struct timespec t;
    if (crowd->plan.report == 0)
        return 0;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (uint64_t)t.tv_sec * 1000000000 + (uint64_t)t.tv_nsec;
}

void time_end(bool add, uint64_t begun)
{
    if (crowd->plan.report == 0)
        return;
    const uint64_t took = (time_begin() - begun) | 8;
    const unsigned power = 63 - (unsigned)__builtin_clzll(took);
    here->times[thread][add][power * 8 + (took >> (power - 3) & 7)]++;
}

/* ---- leftovers */

static int entries_of(const char *path)
{
    int count = 0;
    DIR *directory = opendir(path);
    if (directory == NULL)
        found("%s: %s", path, strerror(errno));
    while (readdir(directory) != NULL)
        count++;
    closedir(directory);
    return count;
}

static int lines_of(const char *path)
{
    int count = 0;
    FILE *file = fopen(path, "re");
    if (file == NULL)
        found("%s: %s", path, strerror(errno));
    for (int c; (c = getc(file)) != EOF;)
        count += c == '\n';
    (void)fclose(file);
    return count;
}

void rest(void)
{
    const uint64_t now = time_begin();
    if (now < here->rested + (uint64_t)crowd->plan.report * 500000 || crowd->plan.report == 0)
        return;
    here->rested = now;
    here->descriptors = entries_of("/proc/self/fd") - 3; /* without ".", ".." and its own */
    here->mappings = lines_of("/proc/self/maps");
}

/* ---- the plan */

unsigned workers(void)
{
    return crowd->plan.writers * crowd->plan.threads;
}

bool forgets(void)
{
    return crowd->plan.series > BLOOMFILE_SERIES_GROW;
}

/* A counting filter loses removed keys, so it takes more than it has room for. */
uint64_t quota(void)
{
    const uint64_t own = crowd->plan.total / workers();
    return forgets() ? UINT64_MAX : crowd->plan.layout == BLOOMFILE_LAYOUT_COUNTING ? 4 * own : own;
}

bool all_done(unsigned epoch)
{
    for (unsigned w = 0; w < workers(); w++)
        if (era(epoch)->progress[w].added < quota())
            return false;
    return true;
}

struct era *era(unsigned epoch)
{
    return &crowd->eras[epoch % ERAS];
}

/* ---- keys */

uint64_t key_id(unsigned epoch, unsigned worker, uint64_t sequence)
{
    return (uint64_t)(epoch % 65536) << 48 | (uint64_t)worker << 40 | sequence;
}

uint64_t key_digest(unsigned epoch, unsigned worker, uint64_t sequence)
{
    const uint64_t id = key_id(epoch, worker, sequence);
    return bloomfile_hash(crowd->plan.seed, &id, sizeof id);
}

/* ---- files */

const char *path_of(unsigned epoch)
{
    static _Thread_local char path[40];
    if (crowd->plan.series == 0)
        return "filter";
    snprintf(path, sizeof path, "series-%u", epoch);
    return path;
}

struct bloomfile_params params_of(unsigned epoch)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.layout = crowd->plan.layout;
    params.series = crowd->plan.series;
    params.capacity = crowd->plan.capacity;
    params.fpr = RATE;
    params.seed = crowd->plan.seed;
    memcpy(params.tag, &epoch, sizeof epoch);
    return params;
}

static struct bloomfile_info info_of(const bloomfile_filter *f)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    const int error = bloomfile_get_info(f, &info);
    if (error != 0)
        found("bloomfile_get_info: %s", bloomfile_errname(error));
    return info;
}

unsigned epoch_of(const bloomfile_filter *f)
{
    unsigned epoch;
    const struct bloomfile_info info = info_of(f);
    memcpy(&epoch, info.tag, sizeof epoch);
    if (epoch > crowd->epoch + 1)
        found("a filter has a tag that nobody gave it: %u", epoch);
    return epoch;
}

void enter_sync(void)
{
    atomic_fetch_add(&here->syncing, 1);
}

void leave_sync(void)
{
    atomic_fetch_sub(&here->syncing, 1);
}

/* ---- errors */

static bool replaced(const bloomfile_filter *f, unsigned epoch)
{
    return crowd->epoch != epoch || (f != NULL && bloomfile_is_stale(f) != 0);
}

/* The files of older series are removed, so their errors are allowed. */
static bool allowed(int error, const bloomfile_filter *f, unsigned epoch)
{
    switch (error) {
    case BLOOMFILE_EUNCLEAN: /* a filter that is being opened may be the next one already */
    case BLOOMFILE_ERECORD:
        return era(epoch)->unclean > 0 || (f == NULL && era(epoch + 1)->unclean > 0);
    case BLOOMFILE_EREPLACED:
        return replaced(f, epoch);
    case BLOOMFILE_EMISSINGLAYER:
    case BLOOMFILE_ESERIES:
    case ENOENT:
    case EBUSY: /* a writer gave up searching for them */
        return crowd->plan.series != 0 && crowd->epoch != epoch;
    default:
        return false;
    }
}

/* A process that kills another one records that only afterwards. */
void allow(const char *what, int error, const bloomfile_filter *f, unsigned epoch)
{
    for (unsigned waits = 0; error != 0 && !allowed(error, f, epoch); waits++) {
        if (crowd->over)
            return;
        if (waits == 30000)
            found("%s: %s, in epoch %u (now %u; %u killed, %u of them in a sync)", what,
                  bloomfile_errname(error), epoch, crowd->epoch, era(epoch)->killed,
                  era(epoch)->unclean);
        usleep(1000);
    }
}

static int open_marked(bloomfile_filter **f, unsigned present, unsigned flags)
{
    atomic_store(&here->epoch, present);
    atomic_store(&here->opening, 1);
    enter_sync();
    const int error = bloomfile_open(f, path_of(present), flags);
    if (error == 0)
        atomic_store(&here->epoch, epoch_of(*f));
    leave_sync();
    atomic_store(&here->opening, 0);
    return error;
}

bloomfile_filter *open_present(unsigned flags, unsigned *epoch)
{
    bloomfile_filter *f;
    const unsigned present = crowd->epoch;
    int error = open_marked(&f, present, flags);
    if (error == BLOOMFILE_EUNCLEAN) {
        allow("opening", error, NULL, present);
        tally[UNCLEAN]++;
        error = open_marked(&f, present, flags | BLOOMFILE_OPEN_ACCEPT_UNCLEAN);
    }
    const bool sealed = error == EBUSY || error == BLOOMFILE_ESEALED;
    if (!sealed || crowd->plan.seals == 0 || (flags & BLOOMFILE_OPEN_WRITE) == 0)
        allow("opening", error, NULL, present);
    if (error != 0)
        return NULL;
    *epoch = epoch_of(f);
    return f;
}

/* ---- the rule */

static void missing(const char *what, const bloomfile_filter *f, unsigned epoch, unsigned w,
                    uint64_t i)
{
    const struct progress *p = &era(epoch)->progress[w];
    if (i < p->removing) /* the key may have been removed by now */
        return;
    const struct bloomfile_info info = info_of(f);
    found("LOST: %s says no to key %llu of worker %u in epoch %u (%llu added, %llu removed; status "
          "%s, state %u, %u layers, %u killed)",
          what, (unsigned long long)i, w, epoch, (unsigned long long)p->added,
          (unsigned long long)p->removing, bloomfile_errname(bloomfile_check(f)), info.state,
          info.layers, era(epoch)->killed);
}

static void look_one_by_one(const bloomfile_filter *f, const uint64_t *ids, const uint64_t *digests,
                            size_t n, bool *hits, bool by_digest)
{
    const uint64_t begun = time_begin();
    for (size_t i = 0; i < n; i++) {
        hits[i] = by_digest ? bloomfile_contains_digest(f, digests[i])
                            : bloomfile_contains(f, &ids[i], sizeof ids[i]);
        if (i == 0)
            time_end(false, begun);
    }
}

static void look_through_pin(const bloomfile_filter *f, const uint64_t *digests, size_t n,
                             bool *hits, bool together)
{
    struct bloomfile_pinned pin = BLOOMFILE_PINNED_INIT;
    const int error = bloomfile_pin(f, &pin);
    if (error != 0)
        found("bloomfile_pin: %s", bloomfile_errname(error));
    for (size_t i = 0; i < n && together; i += 64)
        bloomfile_pinned_contains_digests(&pin, digests + i, n - i < 64 ? n - i : 64, hits + i);
    for (size_t i = 0; i < n && !together; i++)
        hits[i] = bloomfile_pinned_contains_digest(&pin, digests[i]);
}

static void look_in_one_way(const bloomfile_filter *f, const uint64_t *ids, const uint64_t *digests,
                            size_t n, bool *hits)
{
    struct bloomfile_key keys[BATCH_MOST];
    switch (below(8)) {
    case 0:
    case 1:
        look_one_by_one(f, ids, digests, n, hits, below(2) != 0);
        break;
    case 2:
        for (size_t i = 0; i < n; i++)
            keys[i] = (struct bloomfile_key){ &ids[i], sizeof ids[i] };
        bloomfile_contains_many(f, keys, n, hits);
        break;
    case 3:
    case 4:
        look_through_pin(f, digests, n, hits, below(2) != 0);
        break;
    default:
        bloomfile_contains_digests(f, digests, n, hits);
    }
    tally[QUERIES] += n;
}

/* Chooses consecutive keys, or arbitrary keys. */
static void choose(uint64_t *ids, uint64_t *digests, size_t n, unsigned epoch, unsigned w,
                   uint64_t from, uint64_t to)
{
    const bool any = below(2) != 0;
    const uint64_t first = from + below(to - from);
    for (size_t i = 0; i < n; i++) {
        const uint64_t number = any ? from + below(to - from) : first + i;
        ids[i] = key_id(epoch, w, number < to ? number : to - 1);
        digests[i] = bloomfile_hash(crowd->plan.seed, &ids[i], sizeof ids[i]);
    }
}

static uint64_t number_of(uint64_t id)
{
    return id & (((uint64_t)1 << 40) - 1);
}

/* The newest layer at this moment: a "no" implies a search for newer layers. */
static uint64_t newest_of(const bloomfile_filter *live)
{
    (void)bloomfile_contains_digest(live, key_digest(0, COMMON - 1, 0));
    return info_of(live).layer;
}

/* A new key must be found until G - 1 more generations have begun. */
static void look_at_note(const bloomfile_filter *f, const bloomfile_filter *live, unsigned epoch,
                         unsigned w, uint64_t number)
{
    uint64_t ids[NOTE_KEYS], digests[NOTE_KEYS];
    bool hits[NOTE_KEYS];
    const struct note *note = &crowd->notes[w][number % NOTES];
    const uint64_t before = note->number, layer = note->layer, fresh = note->fresh;
    if (number == 0 || before != number || note->number != number)
        return;
    for (unsigned i = 0; i < NOTE_KEYS; i++) {
        ids[i] = key_id(epoch, w, (number - 1) * NOTE_KEYS + i);
        digests[i] = bloomfile_hash(crowd->plan.seed, &ids[i], sizeof ids[i]);
    }
    look_in_one_way(f, ids, digests, NOTE_KEYS, hits);
    for (unsigned i = 0; i < NOTE_KEYS; i++)
        if (!hits[i] && (fresh >> i & 1) != 0 && newest_of(live) + 1 < layer + crowd->plan.series)
            missing("a filter that forgets", f, epoch, w, number_of(ids[i]));
}

void look(const bloomfile_filter *f, unsigned epoch)
{
    uint64_t ids[BATCH_MOST], digests[BATCH_MOST];
    bool hits[BATCH_MOST];
    const unsigned w = (unsigned)below(workers());
    const struct progress *p = &era(epoch)->progress[w];
    if (forgets()) {
        const uint64_t notes = p->added / NOTE_KEYS, back = below(below(2) != 0 ? 8 : NOTES);
        look_at_note(f, f, epoch, w, back < notes ? notes - back : notes);
        return;
    }
    const uint64_t from = p->removing, to = p->added;
    if (from >= to)
        return;
    const size_t n = 1 + (size_t)below(BATCH_MOST);
    choose(ids, digests, n, epoch, w, from, to);
    memset(hits, 0, sizeof hits);
    look_in_one_way(f, ids, digests, n, hits);
    for (size_t i = 0; i < n; i++)
        if (!hits[i])
            missing("a lookup", f, epoch, w, number_of(ids[i]));
}

struct told told_now(unsigned epoch)
{
    struct told told;
    for (unsigned w = 0; w < workers(); w++)
        told.added[w] = era(epoch)->progress[w].added;
    for (unsigned i = 0; i < COMMON_KEYS; i++)
        told.common[i] = era(epoch)->told[i];
    return told;
}

static void check_worker(const char *what, const bloomfile_filter *f, unsigned epoch, unsigned w,
                         uint64_t added)
{
    uint64_t digests[BATCH_MOST];
    bool hits[BATCH_MOST];
    const uint64_t from = era(epoch)->progress[w].removing, all = added > from ? added - from : 0;
    const uint64_t most = 1000000 / workers(), step = 1 + all / most;
    for (uint64_t i = from; i < added;) {
        const uint64_t first = i;
        size_t n = 0;
        for (; n < BATCH_MOST && i < added; i += step)
            digests[n++] = key_digest(epoch, w, i);
        bloomfile_contains_digests(f, digests, n, hits);
        for (size_t j = 0; j < n; j++)
            if (!hits[j])
                missing(what, f, epoch, w, first + j * step);
        tally[CHECKED] += n;
    }
}

/* Otherwise every result could be "maybe", and no loss would be noticed. */
static void check_rate(const char *what, const bloomfile_filter *f, unsigned epoch)
{
    enum {
        ABSENT = 5000
    };
    unsigned hits = 0;
    for (uint64_t i = 0; i < ABSENT; i++)
        hits += bloomfile_contains_digest(f, key_digest(epoch, COMMON - 1, i));
    const struct bloomfile_info info = info_of(f);
    const bool fuller = info.bits != info.bits_unfolded || /* or its bits include removed keys */
                        (info.provenance != 0 && info.layout == BLOOMFILE_LAYOUT_COUNTING);
    if (hits > 50 && bloomfile_check(f) == 0 && !fuller)
        found("%s says maybe to %u of %u keys that nobody added", what, hits, ABSENT);
}

void check_all(const char *what, const bloomfile_filter *f, const bloomfile_filter *live,
               unsigned epoch, const struct told *told)
{
    for (unsigned w = 0; w < workers() && forgets(); w++)
        for (uint64_t back = 0, n = told->added[w] / NOTE_KEYS; back < 100 && back < n; back++) {
            look_at_note(f, live, epoch, w, n - back);
            tally[CHECKED] += NOTE_KEYS;
        }
    if (forgets())
        return;
    for (unsigned w = 0; w < workers(); w++)
        check_worker(what, f, epoch, w, told->added[w]);
    for (unsigned i = 0; i < COMMON_KEYS; i++)
        if (told->common[i] > 0 && !bloomfile_contains_digest(f, key_digest(epoch, COMMON, i)))
            found("LOST: %s says no to common key %u in epoch %u", what, i, epoch);
    check_rate(what, f, epoch);
}

/* Whether a filter has as many keys as were new. A killed process may not have counted its last
 * keys. */
static bool counts_all(const struct bloomfile_info *info, unsigned epoch, uint64_t fresh)
{
    const bool counting = crowd->plan.layout == BLOOMFILE_LAYOUT_COUNTING;
    if (info->keys_estimated != 0 ? counting : counting || info->keys == fresh)
        return true;
    for (unsigned waits = 0; waits < 30000; waits++) { /* for the record of a kill, as in allow() */
        if (crowd->over || era(epoch)->killed > 0)
            return true;
        usleep(1000);
    }
    return false;
}

void check_counts(const char *what, const bloomfile_filter *f, unsigned epoch)
{
    const struct bloomfile_info info = info_of(f);
    uint64_t fresh = 0;
    if (era(epoch)->killed > 0 || crowd->plan.series != 0)
        return;
    for (unsigned w = 0; w < workers(); w++)
        fresh += era(epoch)->progress[w].fresh;
    if (!counts_all(&info, epoch, fresh))
        found("%s has %llu keys%s, but %llu were new", what, (unsigned long long)info.keys,
              info.keys_estimated ? ", estimated" : "", (unsigned long long)fresh);
    struct bloomfile_measurement measure = BLOOMFILE_MEASUREMENT_INIT;
    const int error = bloomfile_measure(f, &measure);
    if (error != 0 || (info.keys_estimated == 0 && measure.ones != info.ones))
        found("%s has %llu ones, and its header %llu", what, (unsigned long long)measure.ones,
              (unsigned long long)info.ones);
}
