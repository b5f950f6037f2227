/* SPDX-License-Identifier: MIT
 * A file by way of target, or a spool copied to standard output. */
#include "shared/sink.h"
#include "os/spool.h"
#include "shared/cli.h"
#include "shared/say.h"
#include "shared/target.h"

#include <bloomfile.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

bool sink_is_stdout(const char *dest)
{
    return strcmp(dest, "-") == 0;
}

static void check_folder(void)
{
    const char *folder = spool_folder(NULL);
    if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) != 0)
        cli_fail(errno, "cannot write a temporary file in %s (TMPDIR names another folder)",
                 folder);
}

void sink_check(const char *dest, bool force)
{
    if (!sink_is_stdout(dest)) {
        target_check(dest, force);
        return;
    }
    if (isatty(STDOUT_FILENO))
        cli_usage("a filter is not written to a terminal");
    int flags = fcntl(STDOUT_FILENO, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
        cli_fail(EBADF, "cannot write to standard output");
    check_folder();
    signal(SIGPIPE, SIG_IGN);
}

void sink_check_again(const char *dest)
{
    if (!sink_is_stdout(dest))
        target_check_old(dest);
}

unsigned sink_flags(bool force)
{
    return force ? BLOOMFILE_REPLACE : 0;
}

const char *sink_name(const char *dest)
{
    return sink_is_stdout(dest) ? "standard output" : dest;
}

void sink_fail(const char *dest, int error)
{
    if (sink_is_stdout(dest) && error == ENOSPC)
        cli_fail(ENOSPC, "cannot write to standard output, or to a temporary file in %s",
                 spool_folder(NULL));
    if (sink_is_stdout(dest))
        cli_fail(error, "cannot write the filter to standard output");
    say_cannot_create(dest, error);
}
