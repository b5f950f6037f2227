/* SPDX-License-Identifier: MIT */
#include "peers/process.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <sched.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/bench.h"
#include "harness/scratch.h"

struct process {
    pid_t pid;
    FILE *requests, *replies;
};

int process_last_core(void)
{
    cpu_set_t allowed;
    bench_call(sched_getaffinity(0, sizeof allowed, &allowed), "find out which cores may be used");
    int core = CPU_SETSIZE - 1;
    while (core > 0 && !CPU_ISSET(core, &allowed))
        core--;
    return core;
}

static void pin(int core)
{
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(core, &one);
    bench_call(sched_setaffinity(0, sizeof one, &one), "keep a process on one core");
}

_Noreturn static void become(const char *path, const char *kernel, int core, int in, int out)
{
    signal(SIGPIPE, SIG_DFL);
    bench_call(dup2(in, STDIN_FILENO), "pass on a pipe");
    bench_call(dup2(out, STDOUT_FILENO), "pass on a pipe");
    bench_call(kernel != NULL ? setenv("BLOOMFILE_KERNEL", kernel, 1)
                              : unsetenv("BLOOMFILE_KERNEL"),
               "choose a kernel");
    scratch_enter();
    pin(core);
    execl(path, path, (char *)NULL);
    fprintf(stderr, "cannot run %s: %s\n", path, strerror(errno));
    _exit(BENCH_TROUBLE);
}

struct process *process_start(const char *path, const char *kernel, int core)
{
    int requests[2], replies[2];
    struct process *p = calloc(1, sizeof *p);
    if (p == NULL)
        bench_fail(errno, "start a process");
    bench_call(pipe2(requests, O_CLOEXEC), "make a pipe");
    bench_call(pipe2(replies, O_CLOEXEC), "make a pipe");
    bench_flush();
    p->pid = bench_call(fork(), "start a process");
    if (p->pid == 0)
        become(path, kernel, core, requests[0], replies[1]);
    close(requests[0]);
    close(replies[1]);
    p->requests = fdopen(requests[1], "w");
    p->replies = fdopen(replies[0], "r");
    if (p->requests == NULL || p->replies == NULL)
        bench_fail(errno, "talk to a process");
    return p;
}

void process_end(struct process *p)
{
    fclose(p->requests);
    fclose(p->replies);
    waitpid(p->pid, NULL, 0);
    free(p);
}

enum answer process_ask(struct process *p, struct reply *reply, const char *format, ...)
{
    va_list arguments;
    *reply = (struct reply){ 0 };
    va_start(arguments, format);
    vfprintf(p->requests, format, arguments);
    va_end(arguments);
    fputc('\n', p->requests);
    if (fflush(p->requests) != 0 || fgets(reply->text, sizeof reply->text, p->replies) == NULL ||
        strcmp(reply->text, "no\n") == 0)
        return ANSWER_NO;
    if (strcmp(reply->text, "none\n") == 0)
        return ANSWER_NONE;
    reply->text[strcspn(reply->text, "\n")] = '\0';
    sscanf(reply->text, "ok %lf %" SCNu64, &reply->seconds, &reply->number);
    return ANSWER_OK;
}
