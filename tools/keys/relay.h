/* SPDX-License-Identifier: MIT
 * Processing of keys by several threads, with output in input order. One thread at a time reads a
 * batch. All threads work on the batches they read. Batches are finished in the order of the input,
 * one at a time, by any free thread. At most two batches per thread exist, so memory is bounded and
 * a slow batch delays the rest. */
#ifndef TOOLS_KEYS_RELAY_H
#define TOOLS_KEYS_RELAY_H

#include "cli/cli.h"
#include "keys/batch.h"

struct relay {
    struct keys *input;
    uint64_t seed;    /* of the digests */
    unsigned threads; /* at most, including the caller; started one by one as batches arrive */
    struct cli_progress *progress; /* updated after each batch; NULL: do not show progress */
    void *job;
    /* Called with a batch, its keys and its digests: */
    void (*work)(void *job, struct batch *batch);   /* by several threads concurrently */
    void (*finish)(void *job, struct batch *batch); /* by one thread at a time, in order */
};

/* Runs to the end of the input. A faulty record ends the program through cli_fail(), after
 * all keys before it are finished. A batch does not wait for more input. A program may run
 * only one relay. */
void relay_run(const struct relay *r);

/* Waits until other threads finish their current work, and then stops them for good. After that the
 * caller may end the program and close files that the other threads use. If several threads call
 * it, only the first returns. cli_fail() calls it before anything else. */
void relay_halt(void);

#endif
