/* SPDX-License-Identifier: MIT
 *
 * Functions that all tools share: messages, numbers on the command line, standard output, progress,
 * and reading and writing that always waits.
 */
#ifndef TOOLS_CLI_CLI_H
#define TOOLS_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* Exit status for trouble; 0 and 1 are each tool's own. */
#define CLI_TROUBLE 2

/* Call first in main: sets the program's name and the locale's character set (nothing else of the
 * locale), and occupies those of the descriptors 0 to 2 that are closed, so that no file is taken
 * for stderr; using one that was closed still fails. */
void cli_start(const char *argv0);

/* "bfcreate: cannot open x.bloom: <words for error>" on stderr, in one write; error 0 leaves the
 * words away. What a terminal might obey (control characters in a file's name) is written as \ooo.
 */
void cli_warn(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The words for an error, with the name of an invalid argument; NULL for 0. */
const char *cli_words(int error);

/* As cli_warn(), then exits with CLI_TROUBLE. */
_Noreturn void cli_fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* What cli_fail() does first, in whichever thread; NULL: nothing. */
extern void (*cli_before_failing)(void);

/* The same without an error code and with "(try 'bfcreate --help')", for a wrong command line. */
_Noreturn void cli_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* From now on a mapped file that shrinks, or whose disk fails, which is the signal SIGBUS, ends the
 * program with a message about `path` and CLI_TROUBLE. */
void cli_catch_bus_error(const char *path);

/* The same where the file is written through a mapping: then the disk may be full, if the file is a
 * sparse copy, whose holes take room when they are written to. `path` stays the caller's. */
void cli_catch_bus_error_of_writer(const char *path);

/* "bfcreate (bloomfile) 0.1.0" on stdout, exit 0. */
_Noreturn void cli_version(void);

/* Standard output, which waits where another program has made it one that does not wait. It is
 * buffered; not even on a terminal does a newline flush it. By one thread at a time. */

/* Returns the errno of the first failure, in whatever call it was, or 0. */
int cli_flush_stdout(void);

/* Flushes and closes it; a failure is reported and exits with CLI_TROUBLE. */
void cli_close_stdout(void);

/* Bytes, or text; a failure is reported, with its reason, and exits with CLI_TROUBLE. */
void cli_write(const void *bytes, size_t size);
void cli_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Text for stdout that several calls of fprintf() put together in memory. */
struct cli_page {
    FILE *out;
    char *text;
    size_t size;
};
void cli_page_start(struct cli_page *p);
void cli_page_print(struct cli_page *p); /* at once, and ends it */

enum cli_count {
    CLI_COUNT_GOOD,
    CLI_COUNT_NOT_WHOLE, /* "1.5" */
    CLI_COUNT_SUFFIX,    /* digits with an unknown suffix */
    CLI_COUNT_OTHER
};

/* A count: decimal digits, which may have underscores between them and a decimal point. A suffix is
 * allowed: k M G T in either case (powers of 1000), Ki Mi Gi Ti (powers of 1024), or e and up to
 * two digits ("1e9"). The result must be a whole number. Signs, blanks and overflow are errors. */
enum cli_count cli_parse_count(const char *text, uint64_t *out);

/* Any 64-bit number: decimal digits, or 0x and hexadecimal digits. */
bool cli_parse_u64(const char *text, uint64_t *out);

/* A rate: a decimal fraction above 0 and below 1, "0.01", "1e-3", or "1%". */
bool cli_parse_rate(const char *text, double *out);

/* Pairs of hexadecimal digits, 1 to `size` of them; the rest of out becomes zero. */
bool cli_parse_hex(const char *text, uint8_t *out, size_t size);

/* "64 bytes", "1.2 MiB". Returns buffer. */
char *cli_bytes(char *buffer, size_t size, uint64_t bytes);

/* A rate or another share as all tools print it: 0.00985 is "0.985%". Returns buffer. */
char *cli_percent(char *buffer, size_t size, double share);

/* The end of a noun of which there are so many: "" or "s". */
const char *cli_s(uint64_t count);

/* Progress on stderr, at most five times a second, and only if stderr is a terminal. With bytes and
 * keys both 0 only `doing` is shown. A message erases the line; there is one at a time. */
struct cli_progress {
    const char *doing; /* "reading urls.txt" */
    uint64_t total;    /* bytes to come, 0 if not known */
    uint64_t bytes, keys;
    int64_t started_ns, shown_ns; /* 0: not started; less than 0: no terminal */
};
void cli_progress_step(struct cli_progress *p);
void cli_progress_end(struct cli_progress *p); /* erases the line */

/* Shows a progress line of at most that many columns, instead of the one before; "": none. */
void cli_show_progress(const char *text, size_t columns);

/* ---- read() and write() that always wait: a program that shares a file may have made it one
 * that does not. */

/* As read(2), but it goes on after signals. */
ssize_t await_read(int fd, void *to, size_t size);

/* Writes all of it. false: errno says why not. */
bool await_write(int fd, const void *bytes, size_t size);

#endif
