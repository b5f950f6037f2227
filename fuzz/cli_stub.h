/* SPDX-License-Identifier: MIT
 * Messages of the tools, which a fuzzer discards. Input must not cause an error that would end a
 * tool: such an error ends the fuzzer. */
#ifndef BLOOMFILE_FUZZ_CLI_STUB_H
#define BLOOMFILE_FUZZ_CLI_STUB_H

#include "cli/cli.h"
#include "target.h"

void cli_note(int error, const char *format, ...)
{
    (void)error;
    (void)format;
}

void cli_fail(int error, const char *format, ...)
{
    (void)error;
    (void)format;
    abort();
}

void cli_usage(const char *format, ...)
{
    (void)format;
    abort();
}

const char *cli_s(uint64_t count)
{
    return count == 1 ? "" : "s";
}

#endif
