/* SPDX-License-Identifier: MIT
 * campaign-trace [-l FILE] [-k N] [-m] [-s BYTES] [-a N] COMMAND [ARGUMENT]...
 *
 * Runs a command and stops it, with all its threads and children, before and after each system
 * call.
 *
 * -l FILE   writes a line for each stop: its number from 1; "before" and the call, or "after"
 * -k N      kills all by SIGKILL at stop N; before a call means that the call is not made
 * -m        only counts calls between two calls of getppid(): marks of campaign-calls
 * -s BYTES  shortens each read and write to this many bytes
 * -a N      from stop N on
 *
 * The exit status is the command's, 128 + n if signal n ended it, and 125 if this program cannot do
 * its work. strace can make a call fail. It cannot kill a process right after a call, and it cannot
 * shorten a transfer. */
#include <elf.h>
#include <err.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

#include <linux/ptrace.h>

#if defined __x86_64__
#define REGISTERS struct user_regs_struct
#define LENGTH(r) ((r).rdx) /* the third argument */
#elif defined __aarch64__
#define REGISTERS struct user_regs_struct
#define LENGTH(r) ((r).regs[2])
#endif

enum {
    CANNOT = 125,
    THREADS = 256, /* threads with a shortened call at the same time */
    STOP = SIGTRAP | 0x80
};

static FILE *list;
static unsigned long kill_at, shorten_from, stops;
static uint64_t at_most;
static bool marked;
static unsigned marks;

/* A thread whose length must be restored: compilers rely on unchanged registers. */
static struct shortened {
    pid_t thread;
    uint64_t length;
} shortened[THREADS];

static struct shortened *shortened_of(pid_t thread)
{
    for (size_t i = 0; i < THREADS; i++)
        if (shortened[i].thread == thread)
            return &shortened[i];
    errx(CANNOT, "more than %d threads", THREADS);
}

static bool transfers(uint64_t call)
{
    return call == SYS_read || call == SYS_write || call == SYS_pread64 || call == SYS_pwrite64;
}

#ifdef REGISTERS
static void set_length(pid_t thread, uint64_t length, uint64_t *before)
{
    REGISTERS registers;
    struct iovec room = { &registers, sizeof registers };
    if (ptrace(PTRACE_GETREGSET, thread, NT_PRSTATUS, &room) != 0)
        err(CANNOT, "PTRACE_GETREGSET");
    *before = LENGTH(registers);
    LENGTH(registers) = length;
    if (ptrace(PTRACE_SETREGSET, thread, NT_PRSTATUS, &room) != 0)
        err(CANNOT, "PTRACE_SETREGSET");
}
#else
static void set_length(pid_t thread, uint64_t length, uint64_t *before)
{
    (void)thread;
    (void)length;
    (void)before;
    errx(CANNOT, "-s is not known for this machine");
}
#endif

static void shorten(pid_t thread, const struct ptrace_syscall_info *info)
{
    uint64_t ignored;
    if (info->op == PTRACE_SYSCALL_INFO_ENTRY) {
        if (!transfers(info->entry.nr) || info->entry.args[2] <= at_most)
            return;
        struct shortened *s = shortened_of(0);
        s->thread = thread;
        set_length(thread, at_most, &s->length);
        return;
    }
    for (size_t i = 0; i < THREADS; i++) {
        if (shortened[i].thread != thread)
            continue;
        set_length(thread, shortened[i].length, &ignored);
        shortened[i].thread = 0;
    }
}

/* One stop before or after a call. Returns false at the end. */
static bool stopped(pid_t thread)
{
    struct ptrace_syscall_info info;
    if (ptrace(PTRACE_GET_SYSCALL_INFO, thread, sizeof info, &info) < 0)
        return errno == ESRCH ? true : (err(CANNOT, "PTRACE_GET_SYSCALL_INFO"), false);
    const bool before = info.op == PTRACE_SYSCALL_INFO_ENTRY;
    if (marked && before && info.entry.nr == SYS_getppid)
        marks++;
    if (marked && marks != 1)
        return true;
    stops++;
    if (list != NULL && before)
        fprintf(list, "%lu before %llu\n", stops, (unsigned long long)info.entry.nr);
    else if (list != NULL)
        fprintf(list, "%lu after\n", stops);
    if (at_most != 0 && stops >= shorten_from)
        shorten(thread, &info);
    return stops != kill_at;
}

static void go_on(pid_t thread, int number)
{
    if (ptrace(PTRACE_SYSCALL, thread, 0, number) != 0 && errno != ESRCH)
        err(CANNOT, "PTRACE_SYSCALL");
}

static pid_t start(char **command)
{
    const pid_t parent = getpid();
    pid_t child = fork();
    if (child < 0)
        err(CANNOT, "fork");
    if (child == 0) {
        /* The next parent would become the tracer, and not know it. */
        if (prctl(PR_SET_PDEATHSIG, SIGKILL) == 0 && getppid() != parent)
            _exit(CANNOT);
        if (setpgid(0, 0) != 0 || ptrace(PTRACE_TRACEME, 0, 0, 0) != 0 || raise(SIGSTOP) != 0)
            err(CANNOT, "PTRACE_TRACEME");
        execvp(command[0], command);
        err(127, "%s", command[0]);
    }
    int status;
    if (waitpid(child, &status, 0) != child || !WIFSTOPPED(status))
        errx(CANNOT, "the child does not stop");
    const long options = PTRACE_O_EXITKILL | PTRACE_O_TRACESYSGOOD | PTRACE_O_TRACEEXEC |
                         PTRACE_O_TRACECLONE | PTRACE_O_TRACEFORK | PTRACE_O_TRACEVFORK;
    if (ptrace(PTRACE_SETOPTIONS, child, 0, options) != 0)
        err(CANNOT, "PTRACE_SETOPTIONS");
    return child;
}

/* The first stop of a new thread, and stops requested by PTRACE_O_*, are not signals of the
 * command. */
static int signal_of(int status)
{
    const int number = WSTOPSIG(status);
    return number == SIGTRAP || number == SIGSTOP || status >> 16 != 0 ? 0 : number;
}

static int run(pid_t child)
{
    bool executed = false;
    int status, result = CANNOT;
    go_on(child, 0);
    for (pid_t thread; (thread = waitpid(-1, &status, __WALL)) > 0;) {
        if (!WIFSTOPPED(status)) {
            if (thread == child)
                result = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
            continue;
        }
        if (status >> 8 == (SIGTRAP | PTRACE_EVENT_EXEC << 8))
            executed = true;
        if (WSTOPSIG(status) != STOP)
            go_on(thread, signal_of(status));
        else if (!executed || stopped(thread))
            go_on(thread, 0);
        else if (kill(-child, SIGKILL) != 0)
            err(CANNOT, "kill");
    }
    return errno == ECHILD ? result : (err(CANNOT, "waitpid"), CANNOT);
}

int main(int argc, char **argv)
{
    for (int option; (option = getopt(argc, argv, "+a:l:k:ms:")) != -1;) {
        if (option == 'l') {
            list = fopen(optarg, "we");
            if (list == NULL)
                err(CANNOT, "%s", optarg);
        } else if (option == 'k') {
            kill_at = strtoul(optarg, NULL, 10);
        } else if (option == 'a') {
            shorten_from = strtoul(optarg, NULL, 10);
        } else if (option == 'm') {
            marked = true;
        } else if (option == 's') {
            at_most = strtoul(optarg, NULL, 10);
        } else {
            return CANNOT;
        }
    }
    if (optind == argc)
        errx(CANNOT, "no command");
    const int result = run(start(argv + optind));
    if (list != NULL && fclose(list) != 0)
        err(CANNOT, "the list");
    return result;
}
