/* SPDX-License-Identifier: MIT
 * The destination of a new filter or patch: a file, or a spool copied to standard output. */
#include "filters/destination.h"
#include "cli/cli.h"
#include "cli/fatal_signals.h"
#include "filters/messages.h"
#include "filters/target_file.h"
#include "os/file.h"
#include "publish/replace.h"

#include <bloomfile_live.h>

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char *const kinds[] = {
    [DESTINATION_FILTER] = "filter", [DESTINATION_PATCH] = "patch"
};

bool destination_is_stdout(const char *dest)
{
    return strcmp(dest, "-") == 0;
}

static void check_folder(void)
{
    const char *folder = spool_folder(NULL);
    if (faccessat(AT_FDCWD, folder, W_OK | X_OK, AT_EACCESS) != 0)
        cli_fail(0, "cannot write a temporary file in %s: %s (choose another folder with TMPDIR)",
                 folder, bloomfile_strerror(errno));
}

void destination_check(const char *dest, bool force)
{
    destination_check_kind(dest, force, DESTINATION_FILTER);
}

void destination_check_kind(const char *dest, bool force, enum destination_kind kind)
{
    if (!destination_is_stdout(dest)) {
        (kind == DESTINATION_PATCH ? target_check_patch : target_check)(dest, force);
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

void destination_check_again(const char *dest)
{
    destination_check_kind_again(dest, DESTINATION_FILTER);
}

void destination_check_kind_again(const char *dest, enum destination_kind kind)
{
    if (destination_is_stdout(dest))
        return;
    fatal_signals_catch();
    (kind == DESTINATION_PATCH ? target_check_old_patch : target_check_old)(dest);
}

void destination_hold(const char *dest, bloomfile_filter *f)
{
    if (destination_is_stdout(dest))
        return;
    int fd, error = replace_open(dest, &fd);
    if (error == 0)
        error = bloomfile_replace_only(f, fd);
    if (error != 0)
        destination_fail(dest, error);
    if (fd >= 0)
        close(fd);
}

struct bloomfile_destination destination_of(const char *dest, bool force)
{
    return destination_is_stdout(dest) ? bloomfile_to_fd(STDOUT_FILENO)
                                       : bloomfile_to_path(dest, force ? BLOOMFILE_TO_REPLACE : 0);
}

const char *destination_name(const char *dest)
{
    return destination_is_stdout(dest) ? "standard output" : dest;
}

void destination_fail(const char *dest, int error)
{
    destination_fail_kind(dest, error, DESTINATION_FILTER);
}

void destination_fail_kind(const char *dest, int error, enum destination_kind kind)
{
    if (destination_is_stdout(dest) && error == ENOSPC)
        cli_fail(ENOSPC, "cannot write to standard output, or to a temporary file in %s",
                 spool_folder(NULL));
    if (destination_is_stdout(dest))
        cli_fail(error, "cannot write the %s to standard output", kinds[kind]);
    message_cannot_create(dest, error);
}
