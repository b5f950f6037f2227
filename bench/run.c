/* SPDX-License-Identifier: MIT
 *
 * bench-run - runs a command, and appends its time and peak memory to a file
 */
#include <errno.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/bench.h"

static double seconds(struct timeval t)
{
    return (double)t.tv_sec + (double)t.tv_usec / 1e6;
}

int main(int argc, char **argv)
{
    struct rusage usage;
    int status;
    if (argc < 3) {
        fputs("usage: bench-run FILE COMMAND [ARGUMENT...]\n"
              "Append a line to FILE: seconds that passed, seconds of processors, peak resident\n"
              "memory in KiB of the largest process. The exit status is COMMAND's.\n",
              stderr);
        return BENCH_TROUBLE;
    }
    FILE *out = fopen(argv[1], "ae");
    if (out == NULL)
        bench_fail(errno, "open the file for the figures");

    const double start = bench_seconds();
    const pid_t pid = bench_call(fork(), "fork");
    if (pid == 0) {
        execvp(argv[2], argv + 2);
        perror(argv[2]);
        _exit(127);
    }
    bench_call(wait4(pid, &status, 0, &usage), "wait for the command");
    fprintf(out, "%.6f %.6f %ld\n", bench_seconds() - start,
            seconds(usage.ru_utime) + seconds(usage.ru_stime), usage.ru_maxrss);
    if (fclose(out) != 0)
        bench_fail(errno, "write the figures");
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}
