/* SPDX-License-Identifier: MIT
 * A crew of workers: a barrier in shared memory, and threads or fork(). */
#include "harness/crew.h"

#include <errno.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "harness/bench.h"

struct moments {
    pthread_barrier_t start;
    double started[CREW_MAX], ended[CREW_MAX], processor_seconds[CREW_MAX];
};

struct worker {
    const struct crew *crew;
    struct moments *moments;
    unsigned number;
};

void *crew_memory(size_t size)
{
    void *memory = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED)
        bench_fail(errno, "get shared memory");
    return memory;
}

void crew_memory_free(void *memory, size_t size)
{
    bench_call(munmap(memory, size), "free shared memory");
}

static double processor_seconds(void)
{
    struct timespec time;
    bench_call(clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time), "read the clock");
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

static void do_task(crew_task *task, const struct worker *w)
{
    if (task != NULL)
        task(w->crew->context, w->number);
}

static void *run_worker(void *argument)
{
    const struct worker *w = argument;
    do_task(w->crew->prepare, w);
    pthread_barrier_wait(&w->moments->start);
    const double processor_start = processor_seconds();
    w->moments->started[w->number] = bench_seconds();
    do_task(w->crew->work, w);
    w->moments->ended[w->number] = bench_seconds();
    w->moments->processor_seconds[w->number] = processor_seconds() - processor_start;
    return NULL;
}

static void run_threads(struct worker *workers, unsigned count)
{
    pthread_t threads[CREW_MAX];
    for (unsigned i = 0; i < count; i++)
        bench_check(pthread_create(&threads[i], NULL, run_worker, &workers[i]), "start a thread");
    for (unsigned i = 0; i < count; i++)
        bench_check(pthread_join(threads[i], NULL), "wait for a thread");
}

static double seconds_of(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

static void run_processes(struct worker *workers, unsigned count, struct crew_time *time)
{
    bench_flush();
    for (unsigned i = 0; i < count; i++) {
        const pid_t pid = bench_call(fork(), "fork");
        if (pid == 0) {
            /* The parent ends if a worker fails. The rest would wait at the barrier forever. */
            bench_call(prctl(PR_SET_PDEATHSIG, SIGKILL), "follow the parent");
            run_worker(&workers[i]);
            do_task(workers[i].crew->leave, &workers[i]);
            _exit(0);
        }
    }
    for (unsigned i = 0; i < count; i++) {
        struct rusage usage;
        int status;
        bench_call(wait4(-1, &status, 0, &usage), "wait for a process");
        if (WIFSIGNALED(status))
            psignal(WTERMSIG(status), "a process was ended");
        if (status != 0)
            bench_fail(0, "go on: a process failed");
        time->process_seconds += seconds_of(usage.ru_utime) + seconds_of(usage.ru_stime);
        time->peak_bytes = fmax(time->peak_bytes, (double)usage.ru_maxrss * 1024);
    }
}

struct crew_time crew_run(const struct crew *crew)
{
    struct moments *moments = crew_memory(sizeof *moments);
    struct worker workers[CREW_MAX];
    pthread_barrierattr_t shared;
    bench_check(pthread_barrierattr_init(&shared), "make a barrier");
    bench_check(pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED), "make a barrier");
    bench_check(pthread_barrier_init(&moments->start, &shared, crew->workers), "make a barrier");
    pthread_barrierattr_destroy(&shared);

    for (unsigned i = 0; i < crew->workers; i++)
        workers[i] = (struct worker){ crew, moments, i };
    struct crew_time time = { 0 };
    if (crew->processes)
        run_processes(workers, crew->workers, &time);
    else
        run_threads(workers, crew->workers);

    double started = HUGE_VAL, ended = 0;
    for (unsigned i = 0; i < crew->workers; i++) {
        started = fmin(started, moments->started[i]);
        ended = fmax(ended, moments->ended[i]);
        time.processor_seconds += moments->processor_seconds[i];
    }
    time.seconds = ended - started;
    crew_memory_free(moments, sizeof *moments);
    return time;
}
