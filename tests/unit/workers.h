/* SPDX-License-Identifier: MIT
 * Threads of several processes that start together and work on one live filter. */
#ifndef BLOOMFILE_TESTS_WORKERS_H
#define BLOOMFILE_TESTS_WORKERS_H

#include <stddef.h>

#include <bloomfile.h>

struct workers {
    unsigned processes, threads; /* threads of each process; a single process is the caller */
    const char *path;            /* each process opens it for writing, */
    unsigned flags;              /* with these flags too; */
    bloomfile_filter *inherited; /* or, if not NULL, uses this handle */
    /* Runs in each thread; `number` counts from 0 over all processes. Must not use cmocka.
     * Returns 0 on success. */
    int (*work)(bloomfile_filter *f, unsigned number, void *context);
    void *context; /* in shared memory, if the processes write to it */
};

/* Runs the workers, and asserts that all succeeded. */
void workers_run(const struct workers *job);

/* Returns zeroed memory that children of fork() share. */
void *shared_memory(size_t size);
void release_shared_memory(void *memory, size_t size);

#endif
