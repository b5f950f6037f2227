/* SPDX-License-Identifier: MIT */
#include "trouble.h"

#include <bloomfile.h>

#include <err.h>
#include <stdio.h>
#include <stdlib.h>

void check_rocksdb(const char *error, const char *what, const char *name)
{
    if (error != NULL)
        errx(2, "cannot %s %s: %s", what, name, error);
}

void check_bloomfile(int error, const char *what, const char *name)
{
    if (error != 0)
        errx(2, "cannot %s %s: %s", what, name, bloomfile_strerror(error));
}

char *join(const char *folder, const char *separator, const char *name)
{
    char *path;
    if (asprintf(&path, "%s%s%s", folder, separator, name) == -1)
        err(2, "cannot name a file in %s", folder);
    return path;
}
