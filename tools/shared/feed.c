/* SPDX-License-Identifier: MIT
 * Each thread has buffers of its own; the lock covers one read. */
#include "shared/feed.h"
#include "shared/cli.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>

enum {
    BATCH = 1024
};

struct feed {
    bloomfile_builder *builder;
    pthread_mutex_t reading; /* held for all that follows */
    struct keys *input;
    struct cli_progress progress;
    int error;
};

/* Waits for its turn, tells how many keys it has added since the last one, and reads. */
static bool next_piece(struct feed *f, struct keys_piece *piece, uint64_t added, int error)
{
    pthread_mutex_lock(&f->reading);
    f->progress.keys += added;
    if (f->error == 0)
        f->error = error;
    bool more = f->error == 0 && keys_next_piece(f->input, piece);
    f->progress.doing = keys_path(f->input);
    f->progress.bytes = keys_bytes(f->input);
    cli_progress_step(&f->progress);
    pthread_mutex_unlock(&f->reading);
    return more;
}

static int add_piece(const struct feed *f, const struct keys_piece *piece, uint64_t *added)
{
    struct bloomfile_key keys[BATCH];
    struct split split = keys_split(f->input, piece);
    size_t n;
    int error = 0;
    *added = 0;
    while (error == 0 && (n = split_next(&split, keys, BATCH)) > 0) {
        error = bloomfile_builder_add_many(f->builder, keys, n);
        *added += n;
    }
    return error;
}

static void *work(void *feed)
{
    struct feed *f = feed;
    struct keys_piece piece = { 0 };
    uint64_t added = 0;
    int error = 0;
    while (next_piece(f, &piece, added, error))
        error = add_piece(f, &piece, &added);
    free(piece.bytes);
    return NULL;
}

/* With this thread and so many more, or as many as can be had. */
static void work_together(struct feed *f, unsigned more)
{
    pthread_t *threads = calloc(more + 1, sizeof(*threads));
    unsigned started = 0;
    while (threads != NULL && started < more &&
           pthread_create(&threads[started], NULL, work, f) == 0)
        started++;
    work(f);
    while (started > 0)
        pthread_join(threads[--started], NULL);
    free(threads);
}

int feed_builder(bloomfile_builder *builder, const struct feed_options *options, uint64_t *count)
{
    struct feed f = {
        .builder = builder,
        .reading = PTHREAD_MUTEX_INITIALIZER,
        .input = keys_new(&options->keys, options->inputs, options->inputs_count),
        .progress = { .shown_ns = options->quiet ? -1 : 0 },
    };
    f.progress.doing = keys_path(f.input);
    f.progress.total = keys_total(f.input);
    cli_progress_step(&f.progress);
    work_together(&f, options->threads - 1);
    cli_progress_end(&f.progress);
    keys_free(f.input);
    pthread_mutex_destroy(&f.reading);
    *count = f.progress.keys;
    return f.error;
}
