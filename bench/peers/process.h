/* SPDX-License-Identifier: MIT
 *
 * A contender's program, running: bench-peers asks, it answers (contender_main.c).
 */
#ifndef BLOOMFILE_BENCH_PEERS_PROCESS_H
#define BLOOMFILE_BENCH_PEERS_PROCESS_H

#include <stdbool.h>
#include <stdint.h>

struct process;

enum answer {
    ANSWER_OK,
    ANSWER_NONE, /* there is no such function */
    ANSWER_NO,   /* it failed, or the program has ended */
};

struct reply {
    double seconds;
    uint64_t number;
    char text[128]; /* the line */
};

/* Starts the program on one core, in the folder of scratch files, with BLOOMFILE_KERNEL set unless
 * kernel is NULL. */
struct process *process_start(const char *path, const char *kernel, int core);
void process_end(struct process *p);

/* One request. After ANSWER_NO *reply is zero. */
enum answer process_ask(struct process *p, struct reply *reply, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The last core that this process may use. */
int process_last_core(void);

#endif
