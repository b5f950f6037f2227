/* SPDX-License-Identifier: MIT */
#include "output.h"
#include "cli.h"

#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

bool output_is(const char *path)
{
    struct stat in, out;
    if (fstat(STDOUT_FILENO, &out) != 0 || !S_ISREG(out.st_mode))
        return false;
    int failed = strcmp(path, "-") == 0 ? fstat(STDIN_FILENO, &in) : stat(path, &in);
    return failed == 0 && in.st_dev == out.st_dev && in.st_ino == out.st_ino;
}

static void check(const char *path)
{
    const char *name = strcmp(path, "-") == 0 ? "standard input" : path;
    if (output_is(path))
        cli_fail(0, "cannot read %s: it is also the output (write to another file)", name);
}

void output_check_inputs(char *const *paths, int count)
{
    for (int i = 0; i < count; i++)
        check(paths[i]);
    if (count == 0)
        check("-");
}
