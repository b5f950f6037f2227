/* SPDX-License-Identifier: MIT
 * A loop that adds keys to a builder. Each thread has its own buffers; only reading
 * takes a lock. */
#include "keys/feed.h"
#include "cli/cli.h"
#include "keys/split.h"
#include "os/thread.h"

#include <pthread.h>
#include <stdlib.h>

struct feed {
    bloomfile_builder *builder;
    pthread_mutex_t reading; /* protects the members below */
    struct keys *input;
    struct cli_progress progress;
    int error;
    char *fault; /* message for the first piece with a fault; NULL: no fault */
    uint64_t broken_piece;
};

/* The result of a thread's work on a piece. */
struct share {
    struct split split; /* after all keys are split */
    uint64_t added;
    int error;
};

/* Keeps the fault of the earliest piece. All earlier pieces were already read, so an earlier fault
 * will still be recorded. */
static void note_fault(struct feed *f, const struct keys_piece *piece, const struct split *split)
{
    if (!split_is_broken(split) || (f->fault != NULL && f->broken_piece < piece->number))
        return;
    free(f->fault);
    f->fault = split_describe(split, piece->path);
    f->broken_piece = piece->number;
}

/* Waits for the lock, records the result of the last piece, and reads the next piece. */
static bool next_piece(struct feed *f, struct keys_piece *piece, const struct share *share)
{
    pthread_mutex_lock(&f->reading);
    f->progress.keys += share->added;
    if (f->error == 0)
        f->error = share->error;
    note_fault(f, piece, &share->split);
    bool more = f->error == 0 && f->fault == NULL && keys_next_piece(f->input, piece);
    f->progress.doing = keys_path(f->input);
    f->progress.bytes = keys_bytes(f->input);
    cli_progress_step(&f->progress);
    pthread_mutex_unlock(&f->reading);
    return more;
}

static struct share add_piece(const struct feed *f, const struct keys_piece *piece)
{
    struct bloomfile_key keys[KEYS_BATCH];
    struct share share = { .split = keys_split(f->input, piece) };
    size_t n;
    while (share.error == 0 && (n = split_next(&share.split, keys, KEYS_BATCH)) > 0) {
        share.error = bloomfile_builder_add_many(f->builder, keys, n);
        share.added += n;
    }
    keys_end_split(f->input, &share.split);
    return share;
}

static void work(void *feed)
{
    struct feed *f = feed;
    struct keys_piece piece = { 0 };
    struct share share = { 0 };
    while (next_piece(f, &piece, &share))
        share = add_piece(f, &piece);
    keys_piece_free(&piece);
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
    team_run(options->threads, work, &f);
    cli_progress_end(&f.progress);
    if (f.fault != NULL)
        cli_fail(0, "%s", f.fault);
    keys_tell_skipped(f.input, f.progress.keys, options->quiet);
    keys_free(f.input);
    pthread_mutex_destroy(&f.reading);
    *count = f.progress.keys;
    return f.error;
}
