/* SPDX-License-Identifier: MIT
 * Calls of the library that write a filter: without the GIL, and ended by an exception of a
 * signal's handler, such as KeyboardInterrupt. */
#ifndef BLOOMFILE_PYTHON_LONG_CALL_H
#define BLOOMFILE_PYTHON_LONG_CALL_H

#include <sys/stat.h>

#include "python.h"

/* The one file that a call may replace. */
struct only {
    bool wanted; /* false: any file */
    int fd;      /* -1: there must be no file at the path */
    struct stat then;
    ssize_t size; /* of the head; -1: unknown */
    char head[4096];
};

struct long_call {
    PyThreadState *python;
    struct long_call *outer; /* of this thread, in which a handler began this one */
    int64_t begun, next;     /* nanoseconds: when it began, and looks for signals again */
    const struct only *only; /* or NULL */
    bool raised;
    int error; /* that ends the call */
};

void long_call_begin(struct long_call *call);

/* Returns the error of the call, or ERROR_RAISED if a handler has raised. */
int long_call_end(struct long_call *call, int error);

/* Notes the file as it is now. Returns 0 or an errno. */
int long_call_note(struct only *only);

/* Lets the call of this thread replace only this file, as it was then. Returns 0, or
 * BLOOMFILE_EREPLACED if it has changed. */
int long_call_replaces_only(const struct only *only);

/* Both, around a call whose error is in `error` afterwards. */
#define LONG_CALL(error, call)                                                                     \
    do {                                                                                           \
        struct long_call long_call;                                                                \
        long_call_begin(&long_call);                                                               \
        error = call;                                                                              \
        error = long_call_end(&long_call, error);                                                  \
    } while (0)

/* Returns whether a signal handler is running inside such a call of this thread. It must not wait:
 * the lock may be held by that call. */
bool long_call_is_interrupted(void);

#endif
