/* SPDX-License-Identifier: MIT
 * A countdown in each thread. */
#include "jitter.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

static uint64_t first;
static uint32_t every;
static const atomic_bool *ends;

static _Thread_local uint64_t state;
static _Thread_local int64_t left;

static uint64_t chance(void)
{
    state += 0x9E3779B97F4A7C15u;
    uint64_t x = (state ^ state >> 30) * 0xBF58476D1CE4E5B9u;
    x = (x ^ x >> 27) * 0x94D049BB133111EBu;
    return x ^ x >> 31;
}

void jitter_begin(uint64_t seed, uint32_t blocks, const atomic_bool *over)
{
    ends = over;
    first = seed;
    every = blocks;
    state = 0;
    left = 0;
}

static void move(unsigned to)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    const long processors = sysconf(_SC_NPROCESSORS_ONLN);
    for (long i = 0; i < processors && i < CPU_SETSIZE; i++)
        if (to == 0 || i == to % processors)
            CPU_SET((size_t)i, &set);
    (void)sched_setaffinity(0, sizeof set, &set); /* a container may lack some */
}

static void give_way(void)
{
    const unsigned how = (unsigned)(chance() % 100);
    if (how < 70)
        sched_yield();
    else if (how < 94)
        usleep((useconds_t)(chance() % 200));
    else if (how < 97)
        usleep((useconds_t)(chance() % 5000));
    else
        move((unsigned)(chance() % 8));
}

void __sanitizer_cov_trace_pc(void)
{
    if (--left > 0)
        return;
    const int beginning = state == 0;
    if (beginning)
        state = first ^ (uint64_t)syscall(SYS_gettid) << 32;
    left = every != 0 ? (int64_t)(1 + chance() % (2 * (uint64_t)every)) : INT64_MAX;
    if (every != 0 && !beginning && !*ends)
        give_way();
}
