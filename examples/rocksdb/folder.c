/* SPDX-License-Identifier: MIT
 *
 * A folder that appears complete or not at all. */
#include "set.h"

#include <err.h>
#include <errno.h>
#include <libgen.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The temporary name of the folder, which is removed at exit. NULL once it has its final name. */
static char *unfinished;

static volatile sig_atomic_t stopped;

static void stop(int number)
{
    stopped = number;
}

static int remove_file(char *path)
{
    const int result = unlink(path);
    free(path);
    return result;
}

static void remove_unfinished(void)
{
    if (unfinished == NULL)
        return;
    for (unsigned i = 0; remove_file(set_file(unfinished, i)) == 0;)
        i++;
    remove_file(join(unfinished, "/", SET_FILTER));
    remove_file(join(unfinished, "/", MANIFEST));
    rmdir(unfinished);
    free(unfinished);
}

/* Signals only set a flag. The program ends itself later, so that it can clean up. */
static void catch_signals(void)
{
    static const int ends[] = { SIGHUP, SIGINT, SIGTERM };
    const struct sigaction action = { .sa_handler = stop };
    for (unsigned i = 0; i < sizeof ends / sizeof ends[0]; i++)
        if (sigaction(ends[i], &action, NULL) == -1)
            err(2, "cannot prepare to clean up");
}

void folder_check_signals(void)
{
    if (stopped)
        errx(2, "stopped by a signal: %s", strsignal(stopped));
}

const char *folder_begin(const char *folder)
{
    struct stat status;
    if (lstat(folder, &status) == 0)
        errx(2, "cannot create %s: %s", folder, strerror(EEXIST));
    if (atexit(remove_unfinished) != 0)
        errx(2, "cannot prepare to clean up");
    catch_signals();
    char *name = join(folder, ".", "XXXXXX");
    const mode_t mask = umask(0);
    umask(mask);
    if (mkdtemp(name) == NULL || chmod(name, 0777 & ~mask) == -1)
        err(2, "cannot create %s", folder);
    return unfinished = name;
}

void folder_finish(const char *folder)
{
    char *copy = join(folder, "", "");
    check_bloomfile(sync_directory(unfinished), "write to disk the names in", folder);
    if (rename(unfinished, folder) == -1)
        err(2, "cannot create %s", folder);
    free(unfinished);
    unfinished = NULL;
    check_bloomfile(sync_directory(dirname(copy)), "write to disk the name", folder);
    free(copy);
}
