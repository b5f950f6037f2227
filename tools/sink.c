/* SPDX-License-Identifier: MIT */
#include "sink.h"
#include "cli.h"
#include "say.h"
#include "target.h"

#include <bloomfile.h>

#include <signal.h>
#include <string.h>
#include <unistd.h>

bool sink_is_stdout(const char *dest)
{
    return strcmp(dest, "-") == 0;
}

void sink_check(const char *dest, bool force)
{
    if (!sink_is_stdout(dest)) {
        target_check(dest, force);
        return;
    }
    if (isatty(STDOUT_FILENO))
        cli_usage("a filter is not written to a terminal");
    signal(SIGPIPE, SIG_IGN);
}

const char *sink_path(const char *dest)
{
    return sink_is_stdout(dest) ? NULL : dest;
}

unsigned sink_flags(const char *dest, bool force)
{
    if (sink_is_stdout(dest))
        return BLOOMFILE_TO_FD(STDOUT_FILENO);
    return force ? BLOOMFILE_REPLACE : 0;
}

const char *sink_name(const char *dest)
{
    return sink_is_stdout(dest) ? "standard output" : dest;
}

void sink_fail(const char *dest, int error)
{
    if (sink_is_stdout(dest))
        cli_fail(error, "cannot write the filter to standard output");
    say_cannot_create(dest, error);
}
