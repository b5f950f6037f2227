/* SPDX-License-Identifier: MIT
 * litmus NAME ROUNDS: threads run the atomics of lib/ against each other, each round in a place
 * of its own. Prints the outcomes and how often they occurred; the status is 1 if a forbidden
 * outcome occurs. It prints the names if it gets no arguments. tests/nightly/campaign/weak.py
 * explains the purpose of each. */
#include <bloomfile.h>
#include <err.h>
#include <inttypes.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "format/bytes.h"
#include "image/guard.h"

#define BATCH   512
#define THREADS 3
#define LIVE    1
#define GONE    3 /* BLOOMFILE_STATE_POISONED */

struct place {
    _Alignas(64) uint64_t a;
    _Alignas(64) uint64_t b;
    _Alignas(64) uint32_t state;
    _Alignas(64) uint32_t told;
    struct guard guard;
    unsigned seen[THREADS][2];
};

static struct place places[BATCH];
static uint8_t page[CHECKSUM_PAGE];

/* ---- actions of threads in a place */

static void add_a_look_b(struct place *p, unsigned *seen)
{
    shared_set64(&p->a, 1);
    shared_order();
    seen[0] = (unsigned)shared_load64(&p->b);
}

static void add_b_look_a(struct place *p, unsigned *seen)
{
    shared_set64(&p->b, 1);
    shared_order();
    seen[0] = (unsigned)shared_load64(&p->a);
}

static void add_a(struct place *p, unsigned *seen)
{
    (void)seen;
    shared_set64(&p->a, 1);
}

static void look_a_look_b(struct place *p, unsigned *seen)
{
    seen[0] = (unsigned)shared_load64(&p->a);
    shared_order();
    seen[1] = (unsigned)shared_load64(&p->b);
}

static void add_a_tell(struct place *p, unsigned *seen)
{
    (void)seen;
    shared_set64(&p->a, 1);
    shared_order();
    __atomic_store_n(&p->told, 1, __ATOMIC_RELAXED);
}

static void hear_look_a(struct place *p, unsigned *seen)
{
    seen[0] = __atomic_load_n(&p->told, __ATOMIC_ACQUIRE);
    seen[1] = (unsigned)shared_load64(&p->a);
}

static void poison_drop(struct place *p, unsigned *seen)
{
    (void)seen;
    __atomic_store_n(&p->state, GONE, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&p->a, 0, __ATOMIC_RELAXED);
}

static void look_state(struct place *p, unsigned *seen)
{
    seen[0] = (unsigned)shared_load64(&p->a);
    shared_order();
    seen[1] = shared_load32(&p->state) == GONE;
}

static void distrust(struct place *p, unsigned *seen)
{
    (void)seen;
    guard_distrust(&p->guard, BLOOMFILE_EPOISONED);
}

static void look_distrust(struct place *p, unsigned *seen)
{
    seen[0] = guard_distrusted(&p->guard);
    seen[1] = atomic_load(&p->guard.error) != 0;
}

static void look_doubts(struct place *p, unsigned *seen)
{
    seen[0] = !guard_only_doubt(&p->guard);
    seen[1] = guard_distrusted(&p->guard);
}

static void find_good(struct place *p, unsigned *seen)
{
    (void)seen;
    guard_set(&p->guard, 0, true, 0);
}

static void find_bad(struct place *p, unsigned *seen)
{
    (void)seen;
    guard_set(&p->guard, 0, false, 0);
}

/* ---- forbidden outcomes */

static bool both_missed(const struct place *p)
{
    return p->seen[0][0] == 0 && p->seen[1][0] == 0;
}

static bool second_missed(const struct place *p)
{
    return p->seen[1][0] == 1 && p->seen[1][1] == 0;
}

static bool third_missed(const struct place *p)
{
    return second_missed(p) && p->seen[2][0] == 0;
}

static bool dropped_unseen(const struct place *p)
{
    return p->seen[1][0] == 0 && p->seen[1][1] == 0;
}

static bool too_few_doubts(const struct place *p)
{
    /* If the page was good before, the file has changed: one more doubt. */
    const uint64_t expected = guard_distrusted(&p->guard) ? 2 : 1;
    return atomic_load(&p->guard.doubts) != expected || atomic_load(&p->guard.known_good[0]) != 0;
}

static const struct litmus {
    const char *name;
    void (*threads[THREADS])(struct place *p, unsigned *seen);
    bool (*forbidden)(const struct place *p);
} tests[] = {
    { "adds-of-two", { add_a_look_b, add_b_look_a }, both_missed },
    { "add-of-what-is-there", { add_a, look_a_look_b, add_b_look_a }, third_missed },
    { "add-is-told", { add_a_tell, hear_look_a }, second_missed },
    { "state-after-bits", { poison_drop, look_state }, dropped_unseen },
    { "error-before-distrust", { distrust, look_distrust }, second_missed },
    { "doubts-after-distrust", { distrust, look_doubts }, second_missed },
    { "good-and-bad", { find_good, find_bad }, too_few_doubts },
};

/* ---- running */

static pthread_barrier_t barrier;
static const struct litmus *test;
static unsigned long batches;

struct runner {
    pthread_t thread;
    unsigned number;
};

static void start_places(void)
{
    for (size_t i = 0; i < BATCH; i++) {
        struct place *p = &places[i];
        guard_release(&p->guard);
        memset(p, 0, sizeof *p);
        p->state = LIVE;
        p->a = test->forbidden == dropped_unseen;
        if (guard_start(&p->guard, page, sizeof page, 0, false) != 0)
            errx(2, "no memory");
    }
}

static unsigned long counts[1 << (2 * THREADS)], forbidden;

static void count_places(void)
{
    for (size_t i = 0; i < BATCH; i++) {
        unsigned outcome = 0;
        for (unsigned j = 0; j < THREADS; j++)
            outcome = outcome << 2 | (places[i].seen[j][0] & 1) << 1 | (places[i].seen[j][1] & 1);
        counts[outcome]++;
        forbidden += test->forbidden(&places[i]);
    }
}

static void *run(void *arg)
{
    const struct runner *r = arg;
    for (unsigned long batch = 0; batch < batches; batch++) {
        if (r->number == 0)
            start_places();
        pthread_barrier_wait(&barrier);
        for (size_t i = 0; i < BATCH; i++)
            test->threads[r->number](&places[i], places[i].seen[r->number]);
        pthread_barrier_wait(&barrier);
        if (r->number == 0)
            count_places();
    }
    return NULL;
}

int main(int argc, char **argv)
{
    struct runner runners[THREADS];
    unsigned n = 0;
    const size_t count = sizeof tests / sizeof *tests;
    for (size_t i = 0; i < count; i++) {
        if (argc != 3)
            puts(tests[i].name);
        else if (strcmp(argv[1], tests[i].name) == 0)
            test = &tests[i];
    }
    if (argc != 3)
        return 0;
    if (test == NULL)
        errx(2, "there is no test '%s'", argv[1]);
    batches = strtoul(argv[2], NULL, 10) / BATCH + 1;
    while (n < THREADS && test->threads[n] != NULL)
        n++;
    pthread_barrier_init(&barrier, NULL, n);
    for (unsigned i = 0; i < n; i++) {
        runners[i].number = i;
        if (pthread_create(&runners[i].thread, NULL, run, &runners[i]) != 0)
            err(2, "thread");
    }
    for (unsigned i = 0; i < n; i++)
        pthread_join(runners[i].thread, NULL);
    for (unsigned i = 0; i < sizeof counts / sizeof *counts; i++)
        if (counts[i] != 0)
            printf("%02o %lu\n", i, counts[i]);
    if (forbidden != 0)
        printf("forbidden %lu\n", forbidden);
    return forbidden != 0;
}
