/* SPDX-License-Identifier: MIT */
#include "folder.h"

#include <err.h>
#include <ftw.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

static char folder[4096];

static int remove_entry(const char *path, const struct stat *status, int type, struct FTW *place)
{
    (void)status;
    (void)type;
    (void)place;
    return remove(path);
}

static void remove_all(void)
{
    if (folder[0] != '\0' && nftw(folder, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == -1)
        warn("cannot remove %s", folder);
}

void folder_make(const char *parent)
{
    if (parent == NULL)
        parent = getenv("TMPDIR") != NULL ? getenv("TMPDIR") : "/tmp";
    char *path = realpath(parent, NULL);
    if (path == NULL)
        err(2, "cannot use %s", parent);
    snprintf(folder, sizeof folder, "%s/sstable-measure.XXXXXX", path);
    free(path);
    if (mkdtemp(folder) == NULL) {
        folder[0] = '\0';
        err(2, "cannot make a folder in %s", parent);
    }
    atexit(remove_all);
    if (chdir(folder) == -1)
        err(2, "cannot go to %s", folder);
}

void folder_remove(const char *name)
{
    if (nftw(name, remove_entry, 16, FTW_DEPTH | FTW_PHYS) == -1)
        err(2, "cannot remove %s/%s", folder, name);
}
