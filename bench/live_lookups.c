/* SPDX-License-Identifier: MIT
 *
 * Lookups of one worker, alone and while another one adds: in a second, and in a second of its own
 * processor time, which the other one and the rest of a busy machine cannot take away.
 */
#include <stdatomic.h>
#include <stdlib.h>

#include "harness/bench.h"
#include "harness/crew.h"
#include "harness/table.h"
#include "harness/turns.h"
#include "live.h"

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

enum figure {
    LOOKUPS, /* a second, and a second of the processor */
    PROCESSOR_LOOKUPS,
    ADDS,
    FIGURES
};

static bool is_quick;
static const char *memory;

/* The companies of batches, and then those of single lookups. */
static void measure(size_t row, double *figures)
{
    const struct company *company = &companies[row % COMPANIES];
    const size_t keys = is_quick ? QUICK_KEYS : KEYS;
    struct looking l = { live_create(memory, 0), keys, crew_memory(keys * sizeof *l.digests),
                         row >= COMPANIES, crew_memory(sizeof *l.shared) };
    const struct crew crew = { company->workers, company->processes, prepare, work, leave, &l };
    bench_digests(bloomfile_seed(l.f), 0, l.digests, keys);
    const uint64_t new_keys = live_add(l.f, l.digests, keys);
    crew_run(&crew);
    live_close(l.f, keys + l.shared->added, new_keys + l.shared->new_keys);
    figures[LOOKUPS] = (double)keys / l.shared->lookup_seconds;
    figures[PROCESSOR_LOOKUPS] = (double)keys / l.shared->lookup_processor_seconds;
    if (company->workers > 1)
        figures[ADDS] = (double)l.shared->added / l.shared->add_seconds;
    crew_memory_free(l.shared, sizeof *l.shared);
    crew_memory_free(l.digests, keys * sizeof *l.digests);
}

void live_lookups(const struct live_options *o)
{
    is_quick = o->quick;
    memory = o->memory;
    struct turns t = turns_take((size_t)2 * COMPANIES, FIGURES, is_quick ? 1 : LIVE_TURNS, measure);
    table_start("one thread's lookups|company|>10^6/s|>10^6/processor s|>to alone|"
                ">10^6 adds/s meanwhile");
    for (size_t i = 0; i < 2 * COMPANIES; i++)
        table_row("%s|%s|%.2f|%.2f|%.2f|%s", i >= COMPANIES ? "one by one" : "batches of 1024",
                  companies[i % COMPANIES].name, turns_median(&t, i, LOOKUPS) / 1e6,
                  turns_median(&t, i, PROCESSOR_LOOKUPS) / 1e6,
                  turns_ratio(&t, i, i / COMPANIES * COMPANIES, PROCESSOR_LOOKUPS),
                  table_number(turns_median(&t, i, ADDS) / 1e6, 2));
    table_end();
    free(t.values);
}
