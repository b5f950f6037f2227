/* SPDX-License-Identifier: MIT */
#include "scratch.h"

#include <err.h>
#include <errno.h>
#include <ftw.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

static volatile sig_atomic_t got_signal;
static volatile pid_t worker;

/* The worker has no handlers any more, so it ends. */
static void pass_on(int number)
{
    got_signal = number;
    kill(worker, number);
}

static const int signals[] = { SIGINT, SIGTERM, SIGHUP };

static void set_signals(int how, void (*handler)(int))
{
    sigset_t set;
    sigemptyset(&set);
    for (size_t i = 0; i < sizeof signals / sizeof signals[0]; i++) {
        sigaddset(&set, signals[i]);
        sigaction(signals[i], &(struct sigaction){ .sa_handler = handler }, NULL);
    }
    sigprocmask(how, &set, NULL);
}

static _Noreturn void work(const char *directory, void (*call)(const void *), const void *context)
{
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    set_signals(SIG_UNBLOCK, SIG_DFL);
    if (chdir(directory) == -1)
        err(2, "cannot enter %s", directory);
    call(context);
    if (fflush(stdout) != 0 || ferror(stdout))
        err(2, "cannot write to standard output");
    exit(0);
}

static int wait_for_worker(void)
{
    int status;
    while (waitpid(worker, &status, 0) == -1) {
        if (errno != EINTR)
            err(2, "cannot wait for a process");
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *ftw)
{
    (void)status, (void)type, (void)ftw;
    return remove(path);
}

int scratch_run(const char *parent, void (*call)(const void *), const void *context)
{
    char directory[4096];
    if (snprintf(directory, sizeof directory, "%s/leveldb-measure.XXXXXX", parent) >=
        (int)sizeof directory)
        errx(2, "cannot use %s: the name is too long", parent);
    set_signals(SIG_BLOCK, SIG_DFL);
    if (mkdtemp(directory) == NULL)
        err(2, "cannot make a directory in %s", parent);
    worker = fork();
    if (worker == -1)
        warn("cannot start a process");
    else if (worker == 0)
        work(directory, call, context);
    else
        set_signals(SIG_UNBLOCK, pass_on);
    const int status = worker == -1 ? 2 : wait_for_worker();
    if (nftw(directory, remove_entry, 16, FTW_DEPTH | FTW_PHYS) != 0)
        err(2, "cannot remove %s", directory);
    return got_signal != 0 ? 128 + got_signal : status;
}
