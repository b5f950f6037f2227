/* SPDX-License-Identifier: MIT
 *
 * Lookups of one worker, alone and while another one adds: in a second, and in a second of its own
 * processor time, which the other one and the rest of a busy machine cannot take away.
 */
#include <stdatomic.h>
#include <stdio.h>

#include "bench.h"
#include "live.h"
#include "live_crew.h"

#define KEYS       8000000
#define QUICK_KEYS 1000000

enum {
    READER,
    WRITER
};

struct looking {
    bloomfile *f;
    size_t keys; /* in the filter, all of them looked up */
    bloomfile_digest *digests;
    bool one_by_one;
    struct looking_shared {
        atomic_bool over; /* the lookups */
        double lookup_seconds, lookup_processor_seconds, add_seconds;
        uint64_t added, new_keys;
    } * shared;
};

static void prepare(void *context, unsigned worker)
{
    struct looking *l = context;
    live_touch(l->f);
    if (worker == WRITER) {
        bloomfile_digest first;
        bench_digests(bloomfile_seed(l->f), l->keys, &first, 1);
        l->shared->new_keys = live_add(l->f, &first, 1);
        return;
    }
    for (size_t i = 0; i < l->keys; i++)
        if (!bloomfile_contains_digest(l->f, l->digests[i]))
            bench_fail(0, "trust the filter: it has lost keys");
}

static size_t look_up(const struct looking *l)
{
    size_t hits = 0;
    if (l->one_by_one) {
        for (size_t i = 0; i < l->keys; i++)
            hits += bloomfile_contains_digest(l->f, l->digests[i]);
        return hits;
    }
    for (size_t done = 0; done < l->keys; done += LIVE_BATCH) {
        const size_t rest = l->keys - done;
        hits += bloomfile_contains_digests(l->f, l->digests + done,
                                           rest < LIVE_BATCH ? rest : LIVE_BATCH, NULL);
    }
    return hits;
}

static void add_until_over(struct looking *l)
{
    bloomfile_digest digests[LIVE_BATCH];
    while (!atomic_load(&l->shared->over)) {
        bench_digests(bloomfile_seed(l->f), l->keys + l->shared->added, digests, LIVE_BATCH);
        l->shared->new_keys += live_add(l->f, digests, LIVE_BATCH);
        l->shared->added += LIVE_BATCH;
    }
}

static void work(void *context, unsigned worker)
{
    struct looking *l = context;
    const double start = bench_seconds(), processor_start = crew_processor_seconds();
    if (worker == WRITER) {
        add_until_over(l);
        l->shared->add_seconds = bench_seconds() - start;
        return;
    }
    if (look_up(l) != l->keys)
        bench_fail(0, "trust the filter: it has lost keys");
    l->shared->lookup_seconds = bench_seconds() - start;
    l->shared->lookup_processor_seconds = crew_processor_seconds() - processor_start;
    atomic_store(&l->shared->over, true);
}

static void leave(void *context, unsigned worker)
{
    struct looking *l = context;
    (void)worker;
    bloomfile_close(l->f);
}

static const struct company {
    const char *name;
    unsigned workers;
    bool processes;
} companies[] = {
    { "alone", 1, false },
    { "beside a thread that adds", 2, false },
    { "beside a process that adds", 2, true },
};
enum {
    COMPANIES = sizeof companies / sizeof companies[0]
};

/* A second. */
struct rates {
    double lookups[LIVE_TURNS], processor_lookups[LIVE_TURNS], ratio[LIVE_TURNS], adds[LIVE_TURNS];
};

static void measure(const struct live_options *o, bool one_by_one, const struct company *company,
                    struct rates *r, unsigned turn)
{
    const size_t keys = o->quick ? QUICK_KEYS : KEYS;
    struct looking l = { live_create(o->memory, 0), keys, crew_memory(keys * sizeof *l.digests),
                         one_by_one, crew_memory(sizeof *l.shared) };
    const struct crew crew = { company->workers, company->processes, prepare, work, leave, &l };
    bench_digests(bloomfile_seed(l.f), 0, l.digests, keys);
    const uint64_t new_keys = live_add(l.f, l.digests, keys);
    crew_run(&crew);
    live_close(l.f, keys + l.shared->added, new_keys + l.shared->new_keys);
    r->lookups[turn] = (double)keys / l.shared->lookup_seconds;
    r->processor_lookups[turn] = (double)keys / l.shared->lookup_processor_seconds;
    if (company->workers > 1)
        r->adds[turn] = (double)l.shared->added / l.shared->add_seconds;
    crew_memory_free(l.shared, sizeof *l.shared);
    crew_memory_free(l.digests, keys * sizeof *l.digests);
}

void live_lookups(const struct live_options *o)
{
    static struct rates rates[2][COMPANIES];
    const unsigned turns = o->quick ? 1 : LIVE_TURNS;
    for (unsigned turn = 0; turn < turns; turn++)
        for (int one_by_one = 0; one_by_one < 2; one_by_one++)
            for (int i = 0; i < COMPANIES; i++) {
                struct rates *r = rates[one_by_one];
                measure(o, one_by_one, &companies[i], &r[i], turn);
                r[i].ratio[turn] = r[i].processor_lookups[turn] / r[0].processor_lookups[turn];
            }

    puts("| one thread's lookups | company                    | 10^6/s | 10^6/processor s |"
         " to alone | 10^6 adds/s meanwhile |\n"
         "|----------------------|----------------------------|-------:|-----------------:|"
         "---------:|----------------------:|");
    for (int one_by_one = 0; one_by_one < 2; one_by_one++)
        for (int i = 0; i < COMPANIES; i++) {
            struct rates *r = &rates[one_by_one][i];
            printf("| %-20s | %-26s | %6.2f | %16.2f | %8.2f |",
                   one_by_one ? "one by one" : "batches of 1024", companies[i].name,
                   bench_median(r->lookups, turns) / 1e6,
                   bench_median(r->processor_lookups, turns) / 1e6, bench_median(r->ratio, turns));
            if (companies[i].workers > 1)
                printf(" %21.2f |\n", bench_median(r->adds, turns) / 1e6);
            else
                puts("                       |");
        }
    puts("");
}
