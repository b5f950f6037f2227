/* SPDX-License-Identifier: MIT
 * Threads of several processes that start together. */
#include "workers.h"

#include "support.h"

#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

struct worker {
    const struct workers *job;
    bloomfile_filter *filter;
    unsigned number;
    pthread_barrier_t *start;
    int result;
};

void *shared_memory(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(memory, MAP_FAILED);
    return memory;
}

void release_shared_memory(void *memory, size_t size)
{
    munmap(memory, size);
}

static void *run_worker(void *argument)
{
    struct worker *w = argument;
    pthread_barrier_wait(w->start);
    w->result = w->job->work(w->filter, w->number, w->job->context);
    return NULL;
}

/* Runs the threads of a process. Returns 0 if all succeeded. */
static int run_threads(const struct workers *job, unsigned process, pthread_barrier_t *start)
{
    bloomfile_filter *f = job->inherited;
    if (f == NULL && bloomfile_open(&f, job->path, BLOOMFILE_OPEN_WRITE | job->flags) != 0)
        return 1;
    struct worker *workers = calloc(job->threads, sizeof *workers);
    pthread_t *threads = calloc(job->threads, sizeof *threads);
    for (unsigned i = 0; i < job->threads; i++) {
        workers[i] = (struct worker){ job, f, process * job->threads + i, start, 0 };
        if (pthread_create(&threads[i], NULL, run_worker, &workers[i]) != 0)
            abort();
    }
    int failed = 0;
    for (unsigned i = 0; i < job->threads; i++) {
        pthread_join(threads[i], NULL);
        failed |= workers[i].result != 0;
    }
    free(workers);
    free(threads);
    if (job->inherited == NULL || job->processes > 1)
        bloomfile_close(f);
    return failed;
}

void workers_run(const struct workers *job)
{
    pthread_barrier_t *start = shared_memory(sizeof *start);
    pthread_barrierattr_t shared;
    pthread_barrierattr_init(&shared);
    pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
    pthread_barrier_init(start, &shared, job->processes * job->threads);
    if (job->processes == 1) {
        assert_int_equal(run_threads(job, 0, start), 0);
    } else {
        for (unsigned i = 0; i < job->processes; i++) {
            pid_t child = fork();
            assert_true(child >= 0);
            if (child == 0) {
                alarm(300);
                _exit(run_threads(job, i, start));
            }
        }
        for (unsigned i = 0; i < job->processes; i++) {
            int status;
            assert_true(wait(&status) > 0);
            assert_int_equal(status, 0);
        }
    }
    pthread_barrierattr_destroy(&shared);
    release_shared_memory(start, sizeof *start);
}
