/* SPDX-License-Identifier: MIT
 * Processing of keys by several threads, which share a ring of batches. */
#include "keys/relay.h"
#include "keys/split.h"
#include "os/thread.h"

#include <errno.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdlib.h>

enum {
    BATCHES_PER_THREAD = 2
};

/* A batch and its progress. */
struct leg {
    struct batch batch;
    const char *path; /* of its input */
    uint64_t bytes;   /* of all inputs, read up to the end of the batch */
    bool ready;       /* waits to be finished */
    struct leg *next; /* the next leg in the list of unused legs */
};

struct course {
    const struct relay *relay;
    size_t most;          /* maximum number of batches in progress */
    pthread_mutex_t lock; /* protects the members below */
    pthread_cond_t changed;
    struct leg *legs, *unused; /* a stack: the last leg used is still in the cache */
    struct leg **ring;         /* the batches from `finished` to `taken` */
    uint64_t taken, finished;  /* numbers of batches */
    bool reading, finishing, at_end, halted;
    unsigned busy;    /* threads that are working or finishing */
    struct team team; /* grows by a thread with each batch, up to the limit */
};

static struct course *_Atomic running;
static _Thread_local bool is_busy, has_halted;

/* Marks this thread as busy and releases the lock. */
static void set_busy(struct course *c)
{
    is_busy = true;
    c->busy++;
    pthread_mutex_unlock(&c->lock);
}

static void set_free(struct course *c)
{
    pthread_mutex_lock(&c->lock);
    c->busy--;
    is_busy = false;
    pthread_cond_broadcast(&c->changed);
}

static void put_back(struct course *c, struct leg *leg)
{
    leg->next = c->unused;
    c->unused = leg;
}

static bool read_batch(struct course *c, struct leg *leg)
{
    c->reading = true;
    pthread_mutex_unlock(&c->lock);
    bool more = keys_next_piece(c->relay->input, &leg->batch.piece);
    leg->path = keys_path(c->relay->input);
    leg->bytes = keys_bytes(c->relay->input);
    leg->batch.errors = keys_errors(c->relay->input);
    pthread_mutex_lock(&c->lock);
    c->reading = false;
    c->at_end = !more;
    pthread_cond_broadcast(&c->changed);
    return more;
}

static void take_batch(struct course *c)
{
    struct leg *leg = c->unused;
    c->unused = leg->next;
    if (!read_batch(c, leg)) {
        put_back(c, leg);
        return;
    }
    c->ring[c->taken++ % c->most] = leg;
    const unsigned working = c->team.started + 1;
    if (working < c->relay->threads && c->taken > working)
        team_start(&c->team);
    set_busy(c);
    batch_split(&leg->batch, c->relay->input, c->relay->seed);
    c->relay->work(c->relay->job, &leg->batch);
    set_free(c);
    leg->ready = true;
}

static void show_progress(struct cli_progress *progress, const struct leg *leg)
{
    progress->doing = leg->path;
    progress->bytes = leg->bytes;
    progress->keys += leg->batch.count;
    cli_progress_step(progress);
}

static void finish_batch(struct course *c)
{
    struct leg *leg = c->ring[c->finished % c->most];
    c->finishing = true;
    set_busy(c);
    c->relay->finish(c->relay->job, &leg->batch);
    split_check(&leg->batch.split, leg->batch.piece.path);
    if (c->relay->progress != NULL)
        show_progress(c->relay->progress, leg);
    set_free(c);
    c->finishing = false;
    c->finished++;
    leg->ready = false;
    put_back(c, leg);
}

/* Sleeps forever, because another thread is ending the program. */
static _Noreturn void give_way(struct course *c)
{
    c->busy -= is_busy ? 1 : 0;
    pthread_cond_broadcast(&c->changed);
    for (;;)
        pthread_cond_wait(&c->changed, &c->lock);
}

/* The loop of each thread. Finishing comes before reading, because it frees a batch. */
static void take_part(void *course)
{
    struct course *c = course;
    pthread_mutex_lock(&c->lock);
    while (!c->at_end || c->finished < c->taken) {
        if (c->halted)
            give_way(c);
        else if (!c->finishing && c->finished < c->taken && c->ring[c->finished % c->most]->ready)
            finish_batch(c);
        else if (!c->reading && !c->at_end && c->taken - c->finished < c->most)
            take_batch(c);
        else
            pthread_cond_wait(&c->changed, &c->lock);
    }
    pthread_mutex_unlock(&c->lock);
}

static void begin(struct course *c, const struct relay *r)
{
    *c = (struct course){ .relay = r, .team = { .work = take_part, .context = c } };
    c->most = (size_t)r->threads * BATCHES_PER_THREAD;
    c->legs = calloc(c->most, sizeof(*c->legs));
    c->ring = calloc(c->most, sizeof(struct leg *));
    if (c->legs == NULL || c->ring == NULL)
        cli_fail(ENOMEM, "cannot start reading keys");
    for (size_t i = 0; i + 1 < c->most; i++)
        c->legs[i].next = &c->legs[i + 1];
    c->unused = c->legs;
    pthread_mutex_init(&c->lock, NULL);
    pthread_cond_init(&c->changed, NULL);
    running = c;
    cli_before_failing = relay_halt;
}

static void end(struct course *c)
{
    running = NULL;
    team_join(&c->team);
    for (size_t i = 0; i < c->most; i++)
        batch_free(&c->legs[i].batch);
    pthread_cond_destroy(&c->changed);
    pthread_mutex_destroy(&c->lock);
    free(c->ring);
    free(c->legs);
}

void relay_run(const struct relay *r)
{
    struct course c;
    begin(&c, r);
    take_part(&c);
    end(&c);
}

/* Returns with the lock held, so that no other thread continues. */
void relay_halt(void)
{
    struct course *c = running;
    if (c == NULL || has_halted)
        return;
    pthread_mutex_lock(&c->lock);
    if (c->halted)
        give_way(c);
    c->halted = has_halted = true;
    while (c->busy > (is_busy ? 1u : 0u))
        pthread_cond_wait(&c->changed, &c->lock);
}
