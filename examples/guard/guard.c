/* SPDX-License-Identifier: MIT
 *
 * A live filter in front of a slow store: the part to copy. It is correct because of three rules:
 *     writer_insert()  an order is added to the filter before it is added to the store
 *     open_writable()  a filter that is damaged or lost can be rebuilt from the store
 *     may_be_stored()  only the current filter may answer "no"
 */
#include "guard.h"
#include "../shared.h"

#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <errno.h>
#include <unistd.h>

#define FILTER_NEW FILTER ".new"
#define CHUNK      1024

/* ---- a process that looks up orders */

struct reader reader_open(void)
{
    struct reader r = { 0 };
    check_bloomfile(bloomfile_open(&r.filter, FILTER, 0), "open", FILTER);
    return r;
}

/* Opens the file that now has the name FILTER. false if that failed. */
static bool reload(struct reader *r)
{
    bloomfile_filter *newer;
    if (bloomfile_open(&newer, FILTER, 0) != 0)
        return false;
    bloomfile_close(r->filter);
    r->filter = newer;
    r->reloads++;
    return true;
}

/* Only the current filter may answer "no", because the writer adds only to that filter. The check
 * costs a system call, so it is made only before a "no". If the filter is stale and the current
 * filter cannot be opened, the answer is "maybe". */
bool may_be_stored(struct reader *r, const struct order *order)
{
    while (!bloomfile_contains(r->filter, order->digits, STORE_DIGITS)) {
        if (!bloomfile_is_stale(r->filter))
            return false;
        if (!reload(r))
            return true;
    }
    return true;
}

/* ---- making the filter from the store */

static int add_orders(bloomfile_filter *filter, const struct order *orders, size_t count)
{
    struct bloomfile_key keys[CHUNK];
    for (size_t i = 0; i < count; i++)
        keys[i] = (struct bloomfile_key){ orders[i].digits, STORE_DIGITS };
    return bloomfile_add_many(filter, keys, count, NULL, NULL, NULL);
}

static int add_all_orders(bloomfile_filter *filter, const struct store *store)
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

/* Builds a filter with room for an eighth more orders. Readers must never see a filter that lacks
 * an order of the store. So the filter gets its name when it is complete, and the writer continues
 * only when that name is on disk. */
static void rebuild(const struct store *store)
{
    const uint64_t count = store_count(store);
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.capacity = count + count / 8 + BATCH;
    params.fpr = 0.01;
    params.label = "orders";

    bloomfile_filter *filter;
    int error = bloomfile_create(&filter, FILTER_NEW, &params, BLOOMFILE_TO_REPLACE);
    if (error == 0)
        error = add_all_orders(filter, store);
    if (error == 0)
        error = bloomfile_sync(filter, NULL);
    bloomfile_close(filter);
    if (error == 0 && rename(FILTER_NEW, FILTER) == -1)
        error = errno;
    if (error != 0)
        unlink(FILTER_NEW);
    check_bloomfile(error, "make " FILTER " from", "the store");
    check_bloomfile(sync_directory("."), "write to disk the name", FILTER);
}

/* ---- the process that inserts */

/* Accepts an unclean filter: orders that a crash of the machine may have lost had not reached the
 * store (see writer_insert). But a sound filter may be an older copy, or belong to another store.
 * So all orders are added, which changes nothing if it has them. The sync lets readers open a
 * filter that was unclean. A filter that is missing or refused is built again. */
static bloomfile_filter *open_writable(const struct store *store)
{
    bloomfile_filter *filter;
    if (bloomfile_open(&filter, FILTER, BLOOMFILE_OPEN_WRITE | BLOOMFILE_OPEN_ACCEPT_UNCLEAN) !=
            0 ||
        add_all_orders(filter, store) != 0 || bloomfile_sync(filter, NULL) != 0) {
        bloomfile_close(filter);
        rebuild(store);
        check_bloomfile(bloomfile_open(&filter, FILTER, BLOOMFILE_OPEN_WRITE), "open", FILTER);
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

/* Adds to the filter first, then to the store. Between the two, a reader may call the store without
 * need, which costs little. In the other order, a reader could get "no" for an order in the store.
 * The same holds after a crash: every order that the store has on disk must be in the filter on
 * disk, so a sync stands between the two. */
void writer_insert(struct writer *w, const struct order *orders, size_t count)
{
    if (store_count(w->store) + count > w->capacity) {
        const uint64_t replaced = w->replaced + 1;
        writer_close(w);
        rebuild(w->store);
        *w = writer_open(w->store);
        w->replaced = replaced;
    }
    check_bloomfile(add_orders(w->filter, orders, count), "add orders to", FILTER);
    check_bloomfile(bloomfile_sync(w->filter, NULL), "write to disk", FILTER);
    store_append(w->store, orders, count);
}
