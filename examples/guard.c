/* SPDX-License-Identifier: MIT
 *
 * guard - a live filter before a slow store
 *
 * A pool of processes answers requests for orders, most of which do not exist (guessed numbers, a
 * crawler, an attack). Orders that are certainly not in the store never reach it: each process asks
 * a filter first, one file in memory that all of them share. Meanwhile a writer inserts new orders
 * into the filter and the store, and replaces the filter by a larger one before it is full.
 *
 * Three rules make this right, and each has its place below:
 *
 *     writer_insert()  the filter learns of an order before the store has it   (writer.c)
 *     open_writable()  what can be made from the store need not be repaired    (writer.c)
 *     may_be_stored()  only the filter in force may say "no"                   (below)
 */
#include "store.h"
#include "writer.h"

#include <bloomfile.h>

#include <err.h>
#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define STORE "guard.orders"

struct counts {
    uint64_t requests, saved, found, false_positives, lost, reloads;
};

struct options {
    unsigned orders, seconds, workers, delay_us;
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

struct worker {
    const struct store *store;
    bloomfile *filter;
    struct counts *counts;
};

/* Whether the name FILTER could be followed to the file that it now stands for. */
static bool reload(struct worker *w)
{
    bloomfile *newer;
    if (bloomfile_open(&newer, FILTER, 0) != 0)
        return false;
    bloomfile_close(w->filter);
    w->filter = newer;
    w->counts->reloads++;
    return true;
}

/* Only the filter in force may say "no", for the writer adds to no other. Asking whether it is
 * costs a system call, so it is done where it counts: a "maybe" needs no proof. Any doubt is a
 * "maybe". */
static bool may_be_stored(struct worker *w, const struct order *order)
{
    while (!bloomfile_contains(w->filter, order->digits, STORE_DIGITS)) {
        if (!bloomfile_is_stale(w->filter))
            return false;
        if (!reload(w))
            return true;
    }
    return true;
}

/* The number of an order, often a recent one, or in four of five cases a guess near it. */
static struct order next_request(const struct store *store)
{
    const uint64_t count = store_count(store), recent = count < 50 ? count : 50;
    const uint64_t back = (uint64_t)random() % (random() % 2 != 0 ? count : recent);
    struct order order;
    store_read(store, count - 1 - back, &order, 1);
    if (random() % 5 == 0)
        return order;
    const uint64_t number = order_to_number(order), back_again = (uint64_t)random() % 1000;
    return order_from_number(number > back_again ? number - back_again : 0);
}

/* A refused order must not have been in the store when the request began: this proof is the only
 * use of count_before, and a program that is no demonstration leaves it out. */
static void answer_requests(struct worker *w, double end)
{
    srandom((unsigned)getpid());
    while (now() < end) {
        const struct order order = next_request(w->store);
        const uint64_t count_before = store_count(w->store);
        w->counts->requests++;
        if (!may_be_stored(w, &order)) {
            w->counts->saved++;
            w->counts->lost += store_has_among(w->store, count_before, order);
        } else if (store_has(w->store, order)) {
            w->counts->found++;
        } else {
            w->counts->false_positives++;
        }
    }
    bloomfile_close(w->filter);
}

/* The filter is opened once: children go on using the handle, and all map the same memory. */
static void start_pool(const struct store *store, struct counts *counts, unsigned workers,
                       double end)
{
    bloomfile *filter;
    check(bloomfile_open(&filter, FILTER, 0), "open " FILTER);
    const pid_t parent = getpid();
    for (unsigned i = 0; i < workers; i++) {
        const pid_t pid = fork();
        if (pid == -1)
            err(2, "cannot start a process");
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGTERM);
            if (getppid() != parent) /* which died before that */
                _exit(0);
            answer_requests(&(struct worker){ store, filter, &counts[i] }, end);
            _exit(0);
        }
    }
    bloomfile_close(filter);
}

static void wait_for_pool(void)
{
    int status;
    while (wait(&status) != -1) {
        if (status != 0)
            errx(2, "a process of the pool has failed");
    }
}

static uint64_t orders_not_in_filter(const struct store *store)
{
    const uint64_t count = store_count(store);
    uint64_t missing = 0;
    struct order order;
    bloomfile *filter;
    check(bloomfile_open(&filter, FILTER, 0), "open " FILTER);
    for (uint64_t i = 0; i < count; i++) {
        store_read(store, i, &order, 1);
        missing += !bloomfile_contains(filter, order.digits, STORE_DIGITS);
    }
    bloomfile_close(filter);
    return missing;
}

static void print(const struct counts *all, uint64_t inserted, uint64_t replaced)
{
    const struct {
        const char *what;
        uint64_t value;
    } lines[] = {
        { "requests", all->requests },
        { "  store calls saved", all->saved },
        { "  store calls made", all->found + all->false_positives },
        { "    found", all->found },
        { "    false positives", all->false_positives },
        { "orders inserted meanwhile", inserted },
        { "filter replaced", replaced },
        { "  noticed by a process", all->reloads },
        { "lost", all->lost },
    };
    for (unsigned i = 0; i < sizeof lines / sizeof lines[0]; i++)
        printf("%-26s %10" PRIu64 "\n", lines[i].what, lines[i].value);
    if (fflush(stdout) != 0)
        err(2, "cannot write to standard output");
}

static struct counts sum(const struct counts *counts, unsigned workers)
{
    struct counts all = { 0 };
    for (const struct counts *c = counts; c < counts + workers; c++) {
        all.requests += c->requests;
        all.saved += c->saved;
        all.found += c->found;
        all.false_positives += c->false_positives;
        all.lost += c->lost;
        all.reloads += c->reloads;
    }
    return all;
}

static bool run(const struct options *o)
{
    const struct store store = store_open(STORE, o->delay_us);
    struct counts *counts = mmap(NULL, o->workers * sizeof *counts, PROT_READ | PROT_WRITE,
                                 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (counts == MAP_FAILED)
        err(2, "cannot get memory to count in");
    writer_fill(&store, o->orders);
    struct writer writer = writer_open(&store);
    writer_close(&writer);

    const uint64_t count = store_count(&store);
    const double end = now() + o->seconds;
    start_pool(&store, counts, o->workers, end);
    writer = writer_open(&store);
    while (now() < end)
        writer_insert(&writer);
    writer_close(&writer);
    wait_for_pool();

    struct counts all = sum(counts, o->workers);
    all.lost += orders_not_in_filter(&store);
    print(&all, store_count(&store) - count, writer.replaced);
    return all.lost == 0;
}

static unsigned number(const char *text, unsigned least, unsigned greatest)
{
    char *end;
    errno = 0;
    const unsigned long value = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < least ||
        value > greatest)
        errx(2, "%s is no number from %u to %u", text, least, greatest);
    return (unsigned)value;
}

int main(int argc, char **argv)
{
    struct options o = { .orders = 100000, .seconds = 3, .workers = 4, .delay_us = 100 };
    int option;
    while ((option = getopt(argc, argv, "n:t:w:d:")) != -1) {
        if (option == 'n')
            o.orders = number(optarg, 1, 10000000);
        else if (option == 't')
            o.seconds = number(optarg, 1, 86400);
        else if (option == 'w')
            o.workers = number(optarg, 1, 1000);
        else if (option == 'd')
            o.delay_us = number(optarg, 0, 1000000);
        else
            return 2;
    }
    if (optind != argc - 1) {
        fputs("usage: guard [-n ORDERS] [-t SECONDS] [-w WORKERS] [-d MICROSECONDS] DIRECTORY\n"
              "Answer requests for orders in DIRECTORY, made there if there are none. -d is how\n"
              "long a call of the store takes. The exit status is 1 if an order was lost.\n",
              stderr);
        return 2;
    }
    if (chdir(argv[optind]) == -1)
        err(2, "cannot enter %s", argv[optind]);
    return run(&o) ? 0 : 1;
}
