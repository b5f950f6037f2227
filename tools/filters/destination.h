/* SPDX-License-Identifier: MIT
 * The destination of a new filter or patch, a file or standard output ("-"), and its
 * error messages. */
#ifndef TOOLS_FILTERS_DESTINATION_H
#define TOOLS_FILTERS_DESTINATION_H

#include <bloomfile.h>

#include <stdbool.h>

bool destination_is_stdout(const char *dest);

/* The kind of output. It selects the words of messages and which existing files may be replaced. */
enum destination_kind {
    DESTINATION_FILTER,
    DESTINATION_PATCH,
};

/* Ends the program unless the output can be written to `dest`. A file is checked as by
 * target_check(). Standard output must not be a terminal, and needs a folder for temporary files.
 * If its reader closes it, writing fails, but SIGPIPE does not end the program. */
void destination_check(const char *dest, bool force);
void destination_check_kind(const char *dest, bool force, enum destination_kind kind);

/* Checks again after long work: ends the program if `dest` now names a file that must not be
 * replaced. Also calls fatal_signals_catch(). */
void destination_check_again(const char *dest);
void destination_check_kind_again(const char *dest, enum destination_kind kind);

/* Restricts output made from `f` to replacing the file that exists now; if no file exists, it may
 * not replace any. Call this before the last check of that file, so that a file that another
 * program puts there later is kept. */
void destination_hold(const char *dest, bloomfile_filter *f);

/* The destination for the library's functions. */
struct bloomfile_destination destination_of(const char *dest, bool force);

/* The name of the destination in messages. */
const char *destination_name(const char *dest);

/* Ends the program with a message for an error that the library returned. */
_Noreturn void destination_fail(const char *dest, int error);
_Noreturn void destination_fail_kind(const char *dest, int error, enum destination_kind kind);

#endif
