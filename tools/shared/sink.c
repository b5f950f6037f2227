/* SPDX-License-Identifier: MIT
 * A file by way of target, or a spool copied to standard output. */
#include "shared/sink.h"
#include "os/spool.h"
#include "shared/cli.h"
#include "shared/ending.h"
#include "shared/say.h"
#include "shared/target.h"

#include <bloomfile_live.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const kinds[] = { [SINK_FILTER] = "filter", [SINK_PATCH] = "patch" };

bool sink_is_stdout(const char *dest)
{
    return strcmp(dest, "-") == 0;
}

static void check_folder(void)
{
    const char *folder = spool_folder(NULL);
    if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) != 0)
        cli_fail(errno, "cannot write a temporary file in %s (choose another folder with TMPDIR)",
                 folder);
}

void sink_check(const char *dest, bool force)
{
    sink_check_kind(dest, force, SINK_FILTER);
}

void sink_check_kind(const char *dest, bool force, enum sink_kind kind)
{
    if (!sink_is_stdout(dest)) {
        (kind == SINK_PATCH ? target_check_patch : target_check)(dest, force);
        return;
    }
    if (isatty(STDOUT_FILENO))
        cli_usage("cannot write a %s to a terminal (redirect standard output)", kinds[kind]);
    int flags = fcntl(STDOUT_FILENO, F_GETFL);
    if (flags < 0 || (flags & O_ACCMODE) == O_RDONLY)
        cli_fail(EBADF, "cannot write to standard output");
    check_folder();
    signal(SIGPIPE, SIG_IGN);
}

void sink_check_again(const char *dest)
{
    sink_check_kind_again(dest, SINK_FILTER);
}

void sink_check_kind_again(const char *dest, enum sink_kind kind)
{
    if (sink_is_stdout(dest))
        return;
    ending_catch();
    (kind == SINK_PATCH ? target_check_old_patch : target_check_old)(dest);
}

void sink_hold(const char *dest, bloomfile *f)
{
    if (sink_is_stdout(dest))
        return;
    const int fd = open(dest, O_PATH | O_CLOEXEC);
    if (fd < 0 && errno != ENOENT && errno != ENOTDIR)
        sink_fail(dest, errno);
    const int error = bloomfile_replace_only(f, fd);
    if (error != 0)
        sink_fail(dest, error);
    if (fd >= 0)
        close(fd);
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
    sink_fail_kind(dest, error, SINK_FILTER);
}

void sink_fail_kind(const char *dest, int error, enum sink_kind kind)
{
    if (sink_is_stdout(dest) && error == ENOSPC)
        cli_fail(ENOSPC, "cannot write to standard output, or to a temporary file in %s",
                 spool_folder(NULL));
    if (sink_is_stdout(dest))
        cli_fail(error, "cannot write the %s to standard output", kinds[kind]);
    say_cannot_create(dest, error);
}
