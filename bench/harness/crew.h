/* SPDX-License-Identifier: MIT
 *
 * A crew of threads or of processes that begin their work at the same moment.
 */
#ifndef BLOOMFILE_BENCH_CREW_H
#define BLOOMFILE_BENCH_CREW_H

#include <stdbool.h>
#include <stddef.h>

#define CREW_MAX 64

/* What a worker does. A process has a copy of the context, but for what crew_memory() holds. */
typedef void crew_task(void *context, unsigned worker);

struct crew {
    unsigned workers; /* 1 to CREW_MAX */
    bool processes;
    crew_task *prepare; /* before the common start; NULL: nothing is to do, here and below */
    crew_task *work;
    crew_task *leave; /* in each process, before it ends */
    void *context;
};

struct crew_time {
    double seconds;           /* from the start of the first worker to the end of the last */
    double processor_seconds; /* of all workers */
    double process_seconds;   /* of processors, of all processes with all their threads */
    double peak_bytes;        /* of memory, of the largest process */
};

/* Ends the program if a worker fails. */
struct crew_time crew_run(const struct crew *crew);

/* Zeros, shared with the processes of a crew. */
void *crew_memory(size_t size);
void crew_memory_free(void *memory, size_t size);

#endif
