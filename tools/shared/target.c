/* SPDX-License-Identifier: MIT
 * What may be replaced, and what is said if it may not. */
#include "shared/target.h"
#include "shared/cli.h"
#include "shared/say.h"
#include "shared/writers.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static void check_folder(const char *path, const char *file)
{
    char *copy = strdup(file);
    if (copy == NULL)
        say_cannot_create(path, ENOMEM);
    const char *folder = dirname(copy);
    if (faccessat(AT_FDCWD, folder, R_OK | W_OK | X_OK, AT_EACCESS) != 0)
        cli_fail(errno, "cannot create %s in the folder %s", path, folder);
    free(copy);
}

bool target_leads_nowhere(const char *path)
{
    struct stat st;
    return stat(path, &st) != 0 && errno == ENOENT && lstat(path, &st) == 0;
}

static void check_new(const char *path)
{
    if (path[strlen(path) - 1] == '/')
        say_cannot_create(path, EISDIR);
    if (target_leads_nowhere(path))
        cli_fail(0, "cannot create %s: it is a symbolic link to nothing", path);
    check_folder(path, path);
}

void target_check(const char *path, bool force)
{
    struct stat st;
    if (stat(path, &st) != 0) {
        if (errno != ENOENT)
            say_cannot_create(path, errno);
        check_new(path);
        return;
    }
    if (!S_ISREG(st.st_mode))
        say_cannot_create(path, S_ISDIR(st.st_mode) ? EISDIR : BLOOMFILE_ENOTREGULAR);
    if (!force)
        say_cannot_create(path, EEXIST);
    char *resolved = realpath(path, NULL);
    if (resolved == NULL)
        say_cannot_create(path, errno);
    check_folder(path, resolved);
    free(resolved);
    target_check_unused(path);
}

void target_check_unused(const char *path)
{
    if (writers_have_file(path))
        cli_fail(0,
                 "cannot replace %s: other programs have it open for writing, and what they add"
                 " would be lost (end them first)",
                 path);
}
