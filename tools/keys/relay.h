/* SPDX-License-Identifier: MIT
 *
 * Keys through several threads: one at a time reads a batch, all of them work on what they have
 * read, and the batches are finished in the order of the input, one at a time, by whichever thread
 * is free. At most two batches a thread are on their way, so a slow one holds up the others, and
 * memory does not grow.
 */
#ifndef TOOLS_KEYS_RELAY_H
#define TOOLS_KEYS_RELAY_H

#include "cli/cli.h"
#include "keys/batch.h"

struct relay {
    struct keys *input;
    uint64_t seed;    /* of the digests */
    unsigned threads; /* at most, the caller's among them; one more with each batch that comes */
    struct cli_progress *progress; /* stepped with each batch that is finished; NULL: none */
    void *job;
    /* For a batch with its keys and digests: */
    void (*work)(void *job, struct batch *batch);   /* by several threads at once */
    void (*finish)(void *job, struct batch *batch); /* by one at a time, in order */
};

/* Until the end of the input, or a fault of a record, which ends the program by cli_fail
 * once all keys before it are finished. No batch waits for more input to come. Once in a program.
 */
void relay_run(const struct relay *r);

/* Waits for the work that other threads are at, and keeps them from going on, for good: then this
 * one may end the program, and close what the others use. Of several that call it, one comes back.
 * cli_fail() calls it first. */
void relay_halt(void);

#endif
