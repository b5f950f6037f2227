/* SPDX-License-Identifier: MIT
 *
 * guard - demonstration of a live filter in front of a slow store
 *
 * A pool of processes answers requests for orders. Most of these orders do not exist (guessed
 * numbers, a crawler, an attack). Each process looks an order up in a filter first, and calls the
 * store only if it may have the order. The filter is one file in memory that all processes share. A
 * writer inserts orders at the same time. At the end the program counts lost orders. The part to
 * copy is guard.c.
 */
#include "../shared.h"
#include "guard.h"

#include <err.h>
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
#define CHUNK 1024

/* The counts printed at the end, in memory that all processes share. */
enum {
    REQUESTS,
    SAVED,
    CALLS,
    FOUND,
    FALSE_POSITIVES,
    INSERTED,
    REPLACED,
    RELOADS,
    LOST,
    COUNTS
};
typedef _Atomic uint64_t counts[COUNTS];

static const char *const names[COUNTS] = {
    "requests",        "  store calls saved",    "  store calls made",
    "    found",       "    false positives",    "orders inserted meanwhile",
    "filter replaced", "  noticed by a process", "lost",
};

struct options {
    uint64_t orders, seconds, workers, delay_us;
};

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

/* Returns an order of the store, often a recent one, in a fifth of the cases; else a guess just
 * below it. */
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

/* A refused order must not have been in the store when the request began. Only this check needs
 * count_before; leave it out of a real program. */
static void answer_requests(struct reader *r, const struct store *store, counts *c, double end)
{
    srandom((unsigned)getpid());
    while (now() < end) {
        const struct order order = next_request(store);
        const uint64_t count_before = store_count(store);
        const bool maybe = may_be_stored(r, &order);
        (*c)[REQUESTS]++;
        (*c)[maybe ? CALLS : SAVED]++;
        if (!maybe)
            (*c)[LOST] += store_has_among(store, count_before, order);
        else
            (*c)[store_has(store, order) ? FOUND : FALSE_POSITIVES]++;
    }
    (*c)[RELOADS] += r->reloads;
    bloomfile_close(r->filter);
}

/* The filter is opened once. The children inherit the handle, and all map the same memory. */
static void start_pool(const struct store *store, counts *c, uint64_t workers, double end)
{
    struct reader reader = reader_open();
    const pid_t parent = getpid();
    for (uint64_t i = 0; i < workers; i++) {
        const pid_t pid = fork();
        if (pid == -1)
            err(2, "cannot start a process");
        if (pid == 0) {
            prctl(PR_SET_PDEATHSIG, SIGTERM);
            if (getppid() != parent) /* the parent died before the prctl() */
                _exit(0);
            answer_requests(&reader, store, c, end);
            _exit(0);
        }
    }
    bloomfile_close(reader.filter);
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
    struct reader reader = reader_open();
    for (uint64_t i = 0; i < count; i++) {
        store_read(store, i, &order, 1);
        missing += !bloomfile_contains(reader.filter, order.digits, STORE_DIGITS);
    }
    bloomfile_close(reader.filter);
    return missing;
}

static bool run(const struct options *o)
{
    const struct store store = store_open(STORE, (unsigned)o->delay_us);
    counts *c = mmap(NULL, sizeof *c, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (c == MAP_FAILED)
        err(2, "cannot get memory to count in");
    struct order orders[CHUNK];
    while (store_count(&store) < o->orders) {
        store_make_orders(&store, orders, CHUNK);
        store_append(&store, orders, CHUNK);
    }
    struct writer writer = writer_open(&store);
    writer_close(&writer);

    const uint64_t count = store_count(&store);
    const double end = now() + (double)o->seconds;
    start_pool(&store, c, o->workers, end);
    writer = writer_open(&store);
    while (now() < end) {
        store_make_orders(&store, orders, BATCH);
        writer_insert(&writer, orders, BATCH);
    }
    writer_close(&writer);
    wait_for_pool();

    (*c)[INSERTED] = store_count(&store) - count;
    (*c)[REPLACED] = writer.replaced;
    (*c)[LOST] += orders_not_in_filter(&store);
    for (unsigned i = 0; i < COUNTS; i++)
        printf("%-26s %10" PRIu64 "\n", names[i], (*c)[i]);
    return (*c)[LOST] == 0;
}

static void number(const char *text, uint64_t least, uint64_t greatest, uint64_t *value)
{
    if (!parse_number(text, least, greatest, value))
        errx(2, "%s is no number from %" PRIu64 " to %" PRIu64, text, least, greatest);
}

int main(int argc, char **argv)
{
    struct options o = { .orders = 100000, .seconds = 3, .workers = 4, .delay_us = 100 };
    int option;
    take_descriptors();
    while ((option = getopt(argc, argv, "n:t:w:d:")) != -1) {
        if (option == 'n')
            number(optarg, 1, 10000000, &o.orders);
        else if (option == 't')
            number(optarg, 1, 86400, &o.seconds);
        else if (option == 'w')
            number(optarg, 1, 1000, &o.workers);
        else if (option == 'd')
            number(optarg, 0, 1000000, &o.delay_us);
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
    const bool right = run(&o);
    finish_output();
    return right ? 0 : 1;
}
