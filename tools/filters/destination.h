/* SPDX-License-Identifier: MIT
 *
 * The destination of a new filter: a file, or standard output ("-"); and its error messages.
 */
#ifndef TOOLS_FILTERS_DESTINATION_H
#define TOOLS_FILTERS_DESTINATION_H

#include <bloomfile.h>

#include <stdbool.h>

bool destination_is_stdout(const char *dest);

/* What is written: changes nothing but what is asked of an old file there, and words. */
enum destination_kind {
    DESTINATION_FILTER,
    DESTINATION_PATCH,
};

/* Ends the program unless the filter can be written there, as target_check() does for a file: a
 * terminal is no place for one, and on its way it needs the folder of temporary files. A reader of
 * standard output that goes away becomes an error. */
void destination_check(const char *dest, bool force);
void destination_check_kind(const char *dest, bool force, enum destination_kind kind);

/* Once more, after long work: ends the program if what has that name by now must not be replaced.
 */
void destination_check_again(const char *dest);
void destination_check_kind_again(const char *dest, enum destination_kind kind);

/* Lets what is made of `f` replace only the file that is there now, or none. Call it before the
 * last look at that file: another program that puts a file there later keeps it. */
void destination_hold(const char *dest, bloomfile_filter *f);

/* For the library's functions. */
struct bloomfile_destination destination_of(const char *dest, bool force);

/* The name for messages. */
const char *destination_name(const char *dest);

/* Ends the program, with what the library returned. */
_Noreturn void destination_fail(const char *dest, int error);
_Noreturn void destination_fail_kind(const char *dest, int error, enum destination_kind kind);

#endif
