/* SPDX-License-Identifier: MIT */
#include "scratch.h"

#include <errno.h>
#include <inttypes.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "bench.h"

#define FILES 8

static char folder[4096], files[FILES][sizeof folder + 64];
static volatile sig_atomic_t count;
static pid_t owner;

/* Children leave it to their parent. Called by signals, too. */
static void clean_up(void)
{
    if (getpid() != owner)
        return;
    for (int i = 0; i < count; i++)
        unlink(files[i]);
    rmdir(folder);
}

static void interrupted(int number)
{
    clean_up();
    _exit(128 + number);
}

static void check_room(const char *where, uint64_t room)
{
    struct statvfs status;
    bench_call(statvfs(where, &status), "find out how much room there is for files");
    const uint64_t have = (uint64_t)status.f_bavail * status.f_frsize;
    if (have < room) {
        char what[sizeof folder + 128];
        snprintf(what, sizeof what,
                 "begin: %s has room for %" PRIu64 " MiB, not %" PRIu64 "; name another folder",
                 where, have >> 20, room >> 20);
        bench_fail(0, what);
    }
}

void scratch_make(const char *where, const char *name, uint64_t room)
{
    if (where == NULL && (where = getenv("TMPDIR")) == NULL)
        where = "/var/tmp";
    check_room(where, room);
    const int length = snprintf(folder, sizeof folder, "%s/%s.XXXXXX", where, name);
    if (length < 0 || (size_t)length >= sizeof folder)
        bench_fail(ENAMETOOLONG, "make a folder for files");
    if (mkdtemp(folder) == NULL)
        bench_fail(errno, "make a folder for files");
    owner = getpid();
    if (atexit(clean_up) != 0)
        bench_fail(errno, "prepare to clean up");
    static const int ends[] = { SIGHUP, SIGINT, SIGPIPE, SIGTERM };
    for (unsigned i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (signal(ends[i], interrupted) == SIG_ERR)
            bench_fail(errno, "prepare to clean up");
}

const char *scratch_folder(void)
{
    return folder;
}

const char *scratch_path(const char *name)
{
    const size_t start = strlen(folder) + 1;
    for (int i = 0; i < count; i++)
        if (strcmp(files[i] + start, name) == 0)
            return files[i];
    if (count == FILES || strlen(name) >= sizeof files[0] - start)
        bench_fail(0, "keep so many files, or of such names");
    sprintf(files[count], "%s/%s", folder, name);
    return files[count++];
}
