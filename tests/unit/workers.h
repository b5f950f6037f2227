/* SPDX-License-Identifier: MIT
 * Threads of several processes that start at once and work on one live filter. */
#ifndef BLOOMFILE_TESTS_WORKERS_H
#define BLOOMFILE_TESTS_WORKERS_H

#include <stddef.h>

#include <bloomfile.h>

struct workers {
    unsigned processes, threads; /* of each process; with one process, the calling one works */
    const char *path;            /* each process opens it for writing, */
    unsigned flags;              /* with these flags too; */
    bloomfile_filter *inherited; /* or, if not NULL, uses this handle */
    /* Runs in each thread, numbered from 0 over all processes. Must not use cmocka. 0: all went
     * well. */
    int (*work)(bloomfile_filter *f, unsigned number, void *context);
    void *context; /* in shared memory, if processes are to write to it */
};

/* Runs it, and asserts that all went well. */
void workers_run(const struct workers *job);

/* Memory that children of fork() share, all zero. */
void *shared_memory(size_t size);
void release_shared_memory(void *memory, size_t size);

#endif
