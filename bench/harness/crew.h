/* SPDX-License-Identifier: MIT
 *
 * A crew of threads or processes that begin their work at the same moment.
 */
#ifndef BLOOMFILE_BENCH_CREW_H
#define BLOOMFILE_BENCH_CREW_H

#include <stdbool.h>
#include <stddef.h>

#define CREW_MAX 64

/* The task of a worker. Processes have copies of the context, but share memory of crew_memory(). */
typedef void crew_task(void *context, unsigned worker);

struct crew {
    unsigned workers; /* 1 to CREW_MAX */
    bool processes;
    crew_task *prepare; /* called before the common start; each task may be NULL */
    crew_task *work;
    crew_task *leave; /* called in each process before it ends */
    void *context;
};

struct crew_time {
    double seconds;           /* from the start of the first worker to the end of the last */
    double processor_seconds; /* processor time of all workers */
    double process_seconds;   /* processor time of all processes with all their threads */
    double peak_bytes;        /* peak memory of the largest process */
};

/* Runs a crew. Ends the program if a worker fails. */
struct crew_time crew_run(const struct crew *crew);

/* Zeroed memory that the processes of a crew share. */
void *crew_memory(size_t size);
void crew_memory_free(void *memory, size_t size);

#endif
