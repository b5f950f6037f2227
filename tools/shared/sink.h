/* SPDX-License-Identifier: MIT
 *
 * Where a new filter goes: a file, or standard output ("-"); and what is said of it.
 */
#ifndef BLOOMFILE_TOOLS_SINK_H
#define BLOOMFILE_TOOLS_SINK_H

#include <bloomfile.h>

#include <stdbool.h>

bool sink_is_stdout(const char *dest);

/* What is written: changes nothing but what is asked of an old file there, and words. */
enum sink_kind {
    SINK_FILTER,
    SINK_PATCH,
};

/* Ends the program unless the filter can be written there, as target_check() does for a file: a
 * terminal is no place for one, and on its way it needs the folder of temporary files. A reader of
 * standard output that goes away becomes an error. */
void sink_check(const char *dest, bool force);
void sink_check_kind(const char *dest, bool force, enum sink_kind kind);

/* Once more, after long work: ends the program if what has that name by now must not be replaced.
 */
void sink_check_again(const char *dest);
void sink_check_kind_again(const char *dest, enum sink_kind kind);

/* Lets what is made of `f` replace only the file that is there now, or none. Call it before the
 * last look at that file: another program that puts a file there later keeps it. */
void sink_hold(const char *dest, bloomfile *f);

/* For the library's function that makes a file. */
unsigned sink_flags(bool force);

/* The name for messages. */
const char *sink_name(const char *dest);

/* Ends the program, with what the library returned. */
_Noreturn void sink_fail(const char *dest, int error);
_Noreturn void sink_fail_kind(const char *dest, int error, enum sink_kind kind);

#endif
