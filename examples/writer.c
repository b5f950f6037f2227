/* SPDX-License-Identifier: MIT */
#include "writer.h"

#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#define FILTER_NEW FILTER ".new"
#define BATCH      100
#define CHUNK      1024

void check(int error, const char *what)
{
    if (error != 0)
        errx(2, "cannot %s: %s", what, bloomfile_strerror(error));
}

/* ---- making the filter from the store */

static struct bloomfile_key key_of(const struct order *order)
{
    return (struct bloomfile_key){ order->digits, STORE_DIGITS };
}

static int add_orders(bloomfile *filter, const struct order *orders, size_t count)
{
    struct bloomfile_key keys[CHUNK];
    for (size_t i = 0; i < count; i++)
        keys[i] = key_of(&orders[i]);
    return bloomfile_add_many(filter, keys, count, NULL, NULL);
}

static int add_all_orders(bloomfile *filter, const struct store *store)
{
    const uint64_t count = store_count(store);
    struct order orders[CHUNK];
    int error = 0;
    size_t n;
    for (uint64_t first = 0; first < count && error == 0; first += n) {
        n = count - first < CHUNK ? (size_t)(count - first) : CHUNK;
        store_read(store, first, orders, n);
        error = add_orders(filter, orders, n);
    }
    return error;
}

/* Readers must never see a filter that lacks an order of the store. So it gets its name when it is
 * complete, and the writer goes on only when that name is on disk. */
static void rebuild(const struct store *store, uint64_t capacity)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.capacity = capacity;
    params.fpr = 0.01;
    params.label = "orders";

    bloomfile *filter;
    int error = bloomfile_create(&filter, FILTER_NEW, &params, BLOOMFILE_REPLACE);
    if (error == 0)
        error = add_all_orders(filter, store);
    if (error == 0)
        error = bloomfile_sync(filter);
    bloomfile_close(filter);
    if (error == 0 && rename(FILTER_NEW, FILTER) == -1)
        error = errno;
    if (error != 0)
        unlink(FILTER_NEW);
    check(error, "make " FILTER " from the store");

    const int directory = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (directory == -1 || fsync(directory) == -1)
        err(2, "cannot write the name " FILTER " to disk");
    close(directory);
}

/* Room for an eighth more orders than there are. */
static void rebuild_larger(const struct store *store)
{
    const uint64_t count = store_count(store);
    rebuild(store, count + count / 8 + BATCH);
}

/* If the machine died while the filter was in use, adds since the last sync may be lost; but they
 * had not reached the store either (see writer_insert), so the filter is as good as before. One
 * that is missing, or refused as damaged or poisoned by a failed write, is made anew. */
static bloomfile *open_writable(const struct store *store)
{
    bloomfile *filter;
    if (bloomfile_open(&filter, FILTER, BLOOMFILE_WRITE | BLOOMFILE_ACCEPT_UNCLEAN) != 0) {
        rebuild_larger(store);
        check(bloomfile_open(&filter, FILTER, BLOOMFILE_WRITE), "open " FILTER " for writing");
    }
    return filter;
}

struct writer writer_open(const struct store *store)
{
    struct writer w = { .store = store, .filter = open_writable(store) };
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(w.filter, &info);
    w.capacity = info.capacity;
    return w;
}

void writer_close(struct writer *w)
{
    bloomfile_close(w->filter);
}

/* ---- inserting */

static uint64_t last_number(const struct store *store)
{
    const uint64_t count = store_count(store);
    struct order last;
    if (count == 0)
        return 0;
    store_read(store, count - 1, &last, 1);
    return order_to_number(last);
}

/* Numbers after `number`, with gaps: one number in ten is an order. */
static void make_orders(struct order *orders, unsigned count, uint64_t number)
{
    for (unsigned i = 0; i < count; i++) {
        number += 1 + (uint64_t)random() % 19;
        orders[i] = order_from_number(number);
    }
}

static void replace_by_larger(struct writer *w)
{
    const uint64_t replaced = w->replaced + 1;
    writer_close(w);
    rebuild_larger(w->store);
    *w = writer_open(w->store);
    w->replaced = replaced;
}

/* The filter first, then the store. Between the two a reader may ask the store in vain, which costs
 * a little. The other way round it would take "no" for an answer about an order that is there,
 * which is wrong. The same holds for a crash: what is on disk in the store must be on disk in the
 * filter, so a sync stands between them; it is one for the whole batch. */
void writer_insert(struct writer *w)
{
    struct order orders[BATCH];
    make_orders(orders, BATCH, last_number(w->store));
    if (store_count(w->store) + BATCH > w->capacity)
        replace_by_larger(w);
    check(add_orders(w->filter, orders, BATCH), "add orders to " FILTER);
    check(bloomfile_sync(w->filter), "write " FILTER " to disk");
    store_append(w->store, orders, BATCH);
}

void writer_fill(const struct store *store, uint64_t count)
{
    struct order orders[CHUNK];
    while (store_count(store) < count) {
        make_orders(orders, CHUNK, last_number(store));
        store_append(store, orders, CHUNK);
    }
}
