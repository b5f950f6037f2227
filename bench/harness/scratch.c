/* SPDX-License-Identifier: MIT
 *
 * Each folder has a keeper: a process that outlives the program and its terminal, and waits for the
 * other end of a pipe to be closed. So signals need no handlers, and SIGKILL is one of them.
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

#define FOLDERS 2

static struct {
    char path[4096];
    pid_t keeper;
    int pipe;
} folders[FOLDERS];
static unsigned count;
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

/* At an end by exit() the folders are gone before the program. */
static void dismiss_keepers(void)
{
    if (getpid() != owner)
        return;
    signal(SIGPIPE, SIG_IGN);
    for (unsigned i = 0; i < count; i++)
        if (write(folders[i].pipe, "", 1) == 1)
            waitpid(folders[i].keeper, NULL, 0);
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

/* Processes that the program starts inherit the pipe: the folder stays while they may use it. */
static void start_keeper(const char *path)
{
    int ends[2];
    bench_call(pipe(ends), "prepare to clean up");
    if (mkdtemp(folders[count].path) == NULL)
        bench_fail(errno, "make a folder for files");
    const pid_t keeper = bench_call(fork(), "prepare to clean up");
    if (keeper == 0) {
        close(ends[1]);
        keep(path, ends[0]);
    }
    close(ends[0]);
    folders[count].keeper = keeper;
    folders[count++].pipe = ends[1];
}

void scratch_make(const char *where, const char *name, uint64_t room)
{
    if (where == NULL && (where = getenv("TMPDIR")) == NULL)
        where = "/var/tmp";
    check_room(where, room);
    if (count == FOLDERS)
        bench_fail(0, "keep so many folders");
    char *path = folders[count].path;
    const int length = snprintf(path, sizeof folders[0].path, "%s/%s.XXXXXX", where, name);
    if (length < 0 || (size_t)length >= sizeof folders[0].path)
        bench_fail(ENAMETOOLONG, "make a folder for files");
    if (count == 0 && atexit(dismiss_keepers) != 0)
        bench_fail(errno, "prepare to clean up");
    owner = getpid();
    start_keeper(path);
}

const char *scratch_folder(void)
{
    return folders[count - 1].path;
}

void scratch_enter(void)
{
    bench_call(chdir(scratch_folder()), "enter the folder for files");
}
