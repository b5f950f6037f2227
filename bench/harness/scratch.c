/* SPDX-License-Identifier: MIT
 *
 * The folder for files. Its keeper removes it: a process that outlives the program and its
 * terminal, and waits until the other end of a pipe is closed. So the program needs no signal
 * handlers, and the folder is removed even after SIGKILL.
 */
#include "harness/scratch.h"

#include <errno.h>
#include <ftw.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <sys/wait.h>
#include <unistd.h>

#include "harness/bench.h"
#include "harness/residence.h"

static struct {
    char path[4096];
    pid_t keeper;
    int pipe;
} folder;
static pid_t owner;

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

void scratch_remove(const char *path)
{
    if (nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == -1)
        bench_fail(errno, "remove scratch files");
}

_Noreturn static void keep(const char *path, int pipe)
{
    char byte;
    setsid();
    while (read(pipe, &byte, 1) == -1 && errno == EINTR)
        ;
    if (nftw(path, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == -1)
        fprintf(stderr, "%s: cannot remove %s: %s\n", program_invocation_short_name, path,
                bloomfile_strerror(errno));
    _exit(0);
}

/* At exit(), waits for the keeper, so that the folder is gone before the program ends. */
static void dismiss_keeper(void)
{
    if (getpid() != owner)
        return;
    signal(SIGPIPE, SIG_IGN);
    if (write(folder.pipe, "", 1) == 1)
        waitpid(folder.keeper, NULL, 0);
}

static void check_room(const char *where, uint64_t room)
{
    struct statvfs status;
    char what[4096 + 128];
    snprintf(what, sizeof what, "make a folder in %s", where);
    bench_call(statvfs(where, &status), what);
    const uint64_t have = (uint64_t)status.f_bavail * status.f_frsize;
    if (have < room) {
        snprintf(what, sizeof what,
                 "begin: %s has room for %" PRIu64 " MiB, not %" PRIu64 "; name another folder",
                 where, have >> 20, room >> 20);
        bench_fail(0, what);
    }
}

/* Processes that the program starts inherit the pipe, so the folder stays as long as they run. */
static void start_keeper(void)
{
    int ends[2];
    bench_call(pipe(ends), "prepare to clean up");
    if (mkdtemp(folder.path) == NULL)
        bench_fail(errno, "make a folder for files");
    const pid_t keeper = bench_call(fork(), "prepare to clean up");
    if (keeper == 0) {
        close(ends[1]);
        keep(folder.path, ends[0]);
    }
    close(ends[0]);
    folder.keeper = keeper;
    folder.pipe = ends[1];
}

void scratch_make(const char *where, const char *name, uint64_t room)
{
    if (where == NULL && (where = getenv("TMPDIR")) == NULL)
        where = "/var/tmp";
    check_room(where, room);
    const int length = snprintf(folder.path, sizeof folder.path, "%s/%s.XXXXXX", where, name);
    if (length < 0 || (size_t)length >= sizeof folder.path)
        bench_fail(ENAMETOOLONG, "make a folder for files");
    if (atexit(dismiss_keeper) != 0)
        bench_fail(errno, "prepare to clean up");
    owner = getpid();
    start_keeper();
    bench_call(chdir(folder.path), "enter the folder for files");
}

/* ---- files that are not in memory */

static double most_stayed;

double scratch_evict(const char *path)
{
    double stayed;
    bench_check(residence_drop_all(path, &stayed), "take files out of memory");
    if (stayed > most_stayed)
        most_stayed = stayed;
    return stayed;
}

void scratch_report_stayed(void)
{
    if (most_stayed > 0)
        fprintf(stderr,
                "%s: up to %.1f %% of the files stayed in memory: the cold figures are too good\n",
                program_invocation_short_name, 100 * most_stayed);
}
