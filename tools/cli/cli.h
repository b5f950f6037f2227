/* SPDX-License-Identifier: MIT
 * Functions that all tools share: messages, numbers on the command line, standard output, progress,
 * and reads and writes that always wait. */
#ifndef TOOLS_CLI_CLI_H
#define TOOLS_CLI_CLI_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

/* Exit status of every error. Each tool defines its own meaning of 0 and 1. */
#define CLI_ERROR 2

/* Call this first in main(). It sets the program's name and the locale's character set, and nothing
 * else of the locale. It also opens /dev/null in place of a closed descriptor 0, 1 or 2, so that no
 * file gets the number of stderr; reading or writing a descriptor that was closed still fails. */
void cli_start(const char *argv0);

/* Prints "bfcreate: cannot open x.bloom: <words for error>" to stderr, in one write. Error 0 omits
 * the words. Characters that could control a terminal, for example in a file name, are printed as
 * \ooo. */
void cli_note(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Prints "bfcreate: warning: ...": the tool obeyed the command line, but the user probably meant
 * something else. */
#define cli_warn(...) cli_note(0, "warning: " __VA_ARGS__)

/* Describes an error, with the name of an invalid argument; NULL for 0. */
const char *cli_words(int error);

/* Like cli_note(), then exits with CLI_ERROR. */
_Noreturn void cli_fail(int error, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* If not NULL, cli_fail() calls this first, in whichever thread it runs. */
extern void (*cli_before_failing)(void);

/* Reports a wrong command line: the message ends with "(try 'bfcreate --help')". Exits
 * with CLI_ERROR. */
_Noreturn void cli_usage(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Installs a handler for SIGBUS, which the kernel sends when a mapped file shrinks or its disk
 * fails. The handler prints a message about `path` and exits with CLI_ERROR. */
void cli_catch_bus_error(const char *path);

/* cli_catch_bus_error() for a file that is written through its mapping. SIGBUS can then also mean a
 * full disk, because writing to a hole of a sparse file allocates space. `path` must stay valid;
 * the caller owns it. */
void cli_catch_bus_error_of_writer(const char *path);

/* Prints "bfcreate (bloomfile) VERSION" to stdout and exits with 0. */
_Noreturn void cli_version(void);

/* Standard output. Writes wait even if another program has made the descriptor non-blocking.
 * Output is buffered, and a newline does not flush it, not even on a terminal. Only one thread may
 * use it at a time. */

/* Returns the errno of the first failure in any of these calls, or 0. */
int cli_flush_stdout(void);

/* Flushes and closes standard output. A failure is reported and exits with CLI_ERROR. */
void cli_close_stdout(void);

/* Write bytes or text. A failure is reported with its reason and exits with CLI_ERROR. */
void cli_write(const void *bytes, size_t size);

/* Ends the program if standard output is a filter or a patch. cli_write() calls it. */
void cli_check_stdout(void);
void cli_print(const char *format, ...) __attribute__((format(printf, 1, 2)));

/* Text for stdout, assembled in memory by several calls of fprintf(). */
struct cli_page {
    FILE *out;
    char *text;
    size_t size;
};
void cli_page_start(struct cli_page *p);
void cli_page_print(struct cli_page *p); /* prints and flushes the text, then frees it */

enum cli_count {
    CLI_COUNT_GOOD,
    CLI_COUNT_NOT_WHOLE, /* "1.5" */
    CLI_COUNT_SUFFIX,    /* digits with an unknown suffix */
    CLI_COUNT_OTHER
};

/* A count: decimal digits, optionally with underscores between them and a decimal point. A suffix
 * is allowed: k M G T in either case (powers of 1000), Ki Mi Gi Ti (powers of 1024), or e and up to
 * two digits ("1e9"). The result must be a whole number. Signs, blanks and overflow are errors. */
enum cli_count cli_parse_count(const char *text, uint64_t *out);

/* Any 64-bit number: decimal digits, or 0x and hexadecimal digits. */
bool cli_parse_u64(const char *text, uint64_t *out);

/* A rate: a decimal fraction above 0 and below 1, "0.01", "1e-3", or "1%". */
bool cli_parse_rate(const char *text, double *out);

/* Pairs of hexadecimal digits, for 1 to `size` bytes. The rest of `out` is set to zeros. */
bool cli_parse_hex(const char *text, uint8_t *out, size_t size);

/* A size as all tools print it: "64 bytes", "1.2 MiB". Returns buffer. */
char *cli_bytes(char *buffer, size_t size, uint64_t bytes);

/* A rate or another fraction as all tools print it: 0.00985 is "0.985%". Returns buffer. */
char *cli_percent(char *buffer, size_t size, double share);

/* The plural ending of a noun: "" for a count of 1, otherwise "s". */
const char *cli_s(uint64_t count);

/* A progress line on stderr, updated at most five times a second, and only if stderr is a terminal.
 * While bytes and keys are both 0, only `doing` is shown. A message erases the line. Only one line
 * can be active at a time. */
struct cli_progress {
    const char *doing; /* "reading urls.txt" */
    uint64_t total;    /* bytes in all, 0 if unknown */
    uint64_t bytes, keys;
    int64_t started_ns, shown_ns; /* 0: not started; negative: stderr is not a terminal */
};
void cli_progress_step(struct cli_progress *p);
void cli_progress_end(struct cli_progress *p); /* erases the line */

/* Replaces the progress line by `text`, cut to `columns`. "" erases the line. */
void cli_show_progress(const char *text, size_t columns);

/* ---- read() and write() that always wait: another program that shares the open file may have made
 * it non-blocking. */

/* Like read(2), but restarts after signals. */
ssize_t await_read(int fd, void *to, size_t size);

/* Writes all bytes. Returns false on failure, with the reason in errno. */
bool await_write(int fd, const void *bytes, size_t size);

#endif
