/* SPDX-License-Identifier: MIT
 * All digests of a builder: a buffer for each thread that adds, and runs on disk once the memory is
 * used up. The file of the runs is called the spool. */
#include "build/digests.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "build/runs.h"
#include "os/file.h"
#include "os/thread.h"

#define CACHE_LINE  64
#define SLICES_LOG  8                   /* threads count 2^8 slices of the range of digests */
#define SAMPLE      64                  /* a sample has every 64th of these slices */
#define GUESS_LEAST ((uint64_t)1 << 16) /* digests; counting fewer takes negligible time */

/* A buffer that threads share. */
struct shared_buffer {
    pthread_mutex_t lock; /* used if plan.shared */
    struct digest_buffer buffer;
    uint8_t apart[CACHE_LINE]; /* padding: no two locks share a cache line */
};

struct digests {
    struct digests_plan plan;
    unsigned count; /* number of buffers */
    struct shared_buffer *buffers;
    pthread_mutex_t spool_lock; /* protects the spool and the list of runs in it */
    uint64_t spool_size;
    struct runs runs; /* the first `spooled` runs are in the spool, the next in buffers */
    size_t spooled;
    uint64_t counted, counted_of; /* distinct digests among the first `counted_of` added */
};

int digests_new(struct digests **out, const struct digests_plan *plan)
{
    struct digests *d = *out = calloc(1, sizeof *d);
    if (d == NULL)
        return ENOMEM;
    d->plan = *plan;
    d->count = plan->buffers;
    d->runs.fd = -1;
    pthread_mutex_init(&d->spool_lock, NULL);
    d->buffers = calloc(d->count, sizeof *d->buffers);
    if (d->buffers == NULL) {
        digests_free(d);
        *out = NULL;
        return ENOMEM;
    }
    for (unsigned i = 0; i < d->count; i++)
        pthread_mutex_init(&d->buffers[i].lock, NULL);
    return 0;
}

void digests_free(struct digests *d)
{
    if (d == NULL)
        return;
    for (unsigned i = 0; d->buffers != NULL && i < d->count; i++) {
        pthread_mutex_destroy(&d->buffers[i].lock);
        digest_buffer_free(&d->buffers[i].buffer);
    }
    pthread_mutex_destroy(&d->spool_lock);
    if (d->runs.fd >= 0)
        close(d->runs.fd);
    free(d->buffers);
    free(d->runs.list);
    free(d);
}

/* If the spool cannot be truncated, closes it; the next run creates another. */
void digests_reset(struct digests *d)
{
    for (unsigned i = 0; i < d->count; i++)
        digest_buffer_reset(&d->buffers[i].buffer);
    if (d->runs.fd >= 0 && ftruncate(d->runs.fd, 0) != 0) {
        close(d->runs.fd);
        d->runs.fd = -1;
    }
    d->runs = (struct runs){ .list = d->runs.list, .room = d->runs.room, .fd = d->runs.fd };
    d->counted = d->counted_of = 0;
    d->spooled = 0;
    d->spool_size = 0;
}

/* ---- adding */

static struct run run_of(const struct digest_buffer *buffer)
{
    return (struct run){ .count = buffer->sorted,
                         .least = buffer->values[0],
                         .greatest = buffer->values[buffer->sorted - 1] };
}

static int spool_buffer(struct digests *d, const struct digest_buffer *buffer)
{
    struct run run = run_of(buffer);
    const size_t size = buffer->count * sizeof *buffer->values;
    int error = runs_reserve(&d->runs, d->spooled + 1);
    if (error == 0 && d->runs.fd < 0)
        error = spool_file(d->plan.folder, &d->runs.fd);
    if (error == 0)
        error = file_write(d->runs.fd, d->spool_size, buffer->values, size);
    if (error != 0)
        return error;
    for (size_t i = 0; i < buffer->count; i++)
        d->runs.sum += buffer->values[i];
    run.offset = d->spool_size;
    d->spool_size += size;
    d->runs.list[d->spooled++] = run;
    return 0;
}

/* Sorts a full buffer. If it is still more than half full, writes it to the spool. */
static int make_way(struct digests *d, struct digest_buffer *buffer)
{
    digest_buffer_sort(buffer);
    if (buffer->count <= d->plan.buffer.most / 2)
        return 0;
    pthread_mutex_lock(&d->spool_lock);
    int error = spool_buffer(d, buffer);
    pthread_mutex_unlock(&d->spool_lock);
    if (error == 0)
        digest_buffer_empty(buffer);
    return error;
}

/* Makes room for `more` digests, which must be at most half of a buffer's maximum. */
static int make_places(struct digests *d, struct digest_buffer *buffer, size_t more)
{
    int error = more > d->plan.buffer.most - digest_buffer_count(buffer) ? make_way(d, buffer) : 0;
    return error != 0 ? error : digest_buffer_reserve(buffer, &d->plan.buffer, more);
}

/* Adds to a buffer that no other thread is using. */
static int add_to_buffer(struct digests *d, struct digest_buffer *buffer, const uint64_t *digests,
                         size_t n)
{
    const size_t most = d->plan.buffer.most / 2;
    for (size_t now; n > 0; digests += now, n -= now) {
        now = n <= most ? n : most;
        int error = make_places(d, buffer, now);
        if (error != 0)
            return error;
        digest_buffer_add(buffer, digests, now);
    }
    return 0;
}

/* The number of the buffer that this thread used last, plus 1. A thread that keeps its buffer keeps
 * the partition buffers in its cache. When two threads shared them, adding took three to five times
 * as long as with one thread. */
static _Thread_local unsigned favourite;

static unsigned find_favourite(void)
{
    static atomic_uint threads;
    if (favourite == 0)
        favourite = 1 + (unsigned)atomic_fetch_add(&threads, 1) % DIGESTS_BUFFERS_MOST;
    return favourite - 1;
}

/* Locks a buffer: the thread's favourite. If another thread holds that, a free buffer. If it is
 * full, an empty buffer, so that a single adding thread uses all buffers. */
static struct shared_buffer *take_buffer(struct digests *d, size_t more)
{
    const unsigned own = find_favourite() % d->count;
    bool is_full = false;
    for (unsigned i = 0; i < d->count; i++) {
        const unsigned number = (own + i) % d->count;
        struct shared_buffer *shared = &d->buffers[number];
        if (pthread_mutex_trylock(&shared->lock) != 0)
            continue;
        const size_t count = digest_buffer_count(&shared->buffer);
        if (count == 0 || (!is_full && more <= d->plan.buffer.most - count)) {
            favourite = number + 1;
            return shared;
        }
        is_full |= i == 0;
        pthread_mutex_unlock(&shared->lock);
    }
    pthread_mutex_lock(&d->buffers[own].lock);
    return &d->buffers[own];
}

int digests_add(struct digests *d, const uint64_t *digests, size_t n)
{
    if (!d->plan.shared)
        return add_to_buffer(d, &d->buffers[0].buffer, digests, n);
    struct shared_buffer *shared = take_buffer(d, n);
    int error = add_to_buffer(d, &shared->buffer, digests, n);
    pthread_mutex_unlock(&shared->lock);
    return error;
}

/* ---- reading */

/* The number of digests held, including repeated digests. */
static uint64_t count_held(const struct digests *d)
{
    uint64_t held = d->spool_size / sizeof(uint64_t);
    for (unsigned i = 0; i < d->count; i++)
        held += digest_buffer_count(&d->buffers[i].buffer);
    return held;
}

struct preparing {
    struct digests *d;
    atomic_uint next;
    atomic_int error;
    bool sort_all;
};

/* Sorts the buffers that are not partitioned, or all buffers. */
static void prepare_buffers(void *context)
{
    struct preparing *p = context;
    for (unsigned i; (i = atomic_fetch_add(&p->next, 1)) < p->d->count;) {
        struct digest_buffer *buffer = &p->d->buffers[i].buffer;
        int error = 0;
        if (p->sort_all || buffer->partitioner == NULL)
            digest_buffer_sort(buffer);
        else
            error = partitioner_index(buffer->partitioner, buffer->values + buffer->blocks);
        if (error != 0)
            atomic_store(&p->error, error);
    }
}

static int prepare(struct digests *d, bool sort_all)
{
    struct preparing p = { .d = d, .sort_all = sort_all };
    const uint64_t shares = count_held(d) / READER_SHARE;
    team_run(team_size(d->plan.threads, shares < d->count ? shares : d->count), prepare_buffers,
             &p);
    return p.error;
}

/* The number of digests in the largest partition. */
static size_t largest_partition(const struct digests *d)
{
    size_t largest = 0;
    for (unsigned p = 0; p < PARTITIONS; p++) {
        size_t n = 0;
        for (unsigned i = 0; i < d->runs.buffers; i++)
            n += partitioner_count(d->runs.partitioned[i], p);
        largest = n > largest ? n : largest;
    }
    return largest;
}

/* Lists a buffer's sorted digests as a run. Its other digests remain in partitions. */
static void list_buffer(struct digests *d, const struct digest_buffer *buffer)
{
    if (digest_buffer_count(buffer) > buffer->sorted)
        d->runs.partitioned[d->runs.buffers++] = buffer->partitioner;
    if (buffer->sorted == 0)
        return;
    struct run *run = &d->runs.list[d->runs.count++];
    *run = run_of(buffer);
    run->values = buffer->values;
}

static void list_buffers(struct digests *d)
{
    d->runs.count = d->spooled;
    d->runs.buffers = 0;
    for (unsigned i = 0; i < d->count; i++)
        list_buffer(d, &d->buffers[i].buffer);
}

static uint64_t count_added(const struct digests *d)
{
    uint64_t added = 0;
    for (unsigned i = 0; i < d->count; i++)
        added += d->buffers[i].buffer.added;
    return added;
}

const struct runs *digests_runs(struct digests *d)
{
    if (runs_reserve(&d->runs, d->spooled + d->count) != 0 || prepare(d, false) != 0)
        return NULL;
    list_buffers(d);
    if (largest_partition(d) > d->plan.room / 2) {
        prepare(d, true);
        list_buffers(d);
    }
    d->runs.held = count_held(d);
    d->runs.counted = d->counted_of == count_added(d);
    d->runs.keys = d->counted;
    return &d->runs;
}

/* ---- counting */

struct counting {
    const struct digests *d;
    unsigned step; /* reads every `step`th slice */
    atomic_uint next;
    atomic_int error;
    atomic_uint_least64_t digests, distinct, sum;
};

/* The digests read by a thread. */
struct seen {
    uint64_t digests, distinct;
};

static void count_some(void *context, struct reader_piece *piece)
{
    struct seen *seen = context;
    seen->digests += piece->n;
    reader_make_distinct(piece);
    seen->distinct += piece->n;
}

static void count_slices(void *context)
{
    struct counting *c = context;
    struct reader *reader;
    struct seen seen = { 0 };
    int error = reader_new(&reader, &c->d->runs, c->d->plan.room);
    while (error == 0 && atomic_load(&c->error) == 0) {
        uint64_t slice = atomic_fetch_add(&c->next, c->step);
        if (slice >> SLICES_LOG != 0)
            break;
        uint64_t first = slice << (64 - SLICES_LOG), last = first + (UINT64_MAX >> SLICES_LOG);
        error = reader_read(reader, first, last, count_some, &seen);
    }
    if (error != 0)
        atomic_store(&c->error, error);
    atomic_fetch_add(&c->digests, seen.digests);
    atomic_fetch_add(&c->distinct, seen.distinct);
    atomic_fetch_add(&c->sum, reader != NULL ? reader_sum(reader) : 0);
    reader_free(reader);
}

void digests_are(struct digests *d, uint64_t distinct)
{
    d->counted = d->runs.keys = distinct;
    d->counted_of = count_added(d);
    d->runs.counted = true;
}

static int count_prepared(struct digests *d)
{
    struct counting c = { .d = d, .step = 1 };
    team_run(team_size(d->plan.threads, d->runs.held / READER_SHARE), count_slices, &c);
    if (c.error != 0 || c.sum != d->runs.sum)
        return c.error != 0 ? c.error : EIO;
    digests_are(d, c.distinct);
    return 0;
}

int digests_count(struct digests *d, uint64_t *count)
{
    int error = 0;
    if (d->counted_of != count_added(d))
        error = digests_runs(d) == NULL ? ENOMEM : count_prepared(d);
    if (error == 0)
        *count = d->counted;
    return error;
}

int digests_guess(struct digests *d, uint64_t *count, bool *certain)
{
    struct counting sample = { .d = d, .step = SAMPLE };
    *certain = d->runs.counted || d->runs.held < GUESS_LEAST;
    if (!*certain) {
        count_slices(&sample);
        *certain = sample.digests != sample.distinct;
    }
    int error = sample.error;
    if (error == 0 && *certain && !d->runs.counted)
        error = count_prepared(d);
    *count = *certain ? d->counted : d->runs.held;
    return error;
}
