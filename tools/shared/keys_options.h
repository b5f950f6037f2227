/* SPDX-License-Identifier: MIT
 * How keys are cut out of inputs. */
#ifndef BLOOMFILE_TOOLS_KEYS_OPTIONS_H
#define BLOOMFILE_TOOLS_KEYS_OPTIONS_H

#include <stdbool.h>
#include <stddef.h>

enum keys_form {
    KEYS_LINES,   /* end at '\n'; the last may lack it */
    KEYS_NUL,     /* end at '\0'; the last may lack it */
    KEYS_RECORDS, /* of record_size bytes each */
};

struct keys_options {
    enum keys_form form;
    size_t record_size; /* KEYS_RECORDS */
    bool crlf;          /* KEYS_LINES: a '\r' before the end of the line is no part of the key */
    bool keep_going;    /* trouble with an input is a message, and the next one is read */
    bool no_keys;       /* what looks like something else is no warning: it is a list of names */
    bool stoppable;     /* once there is a stop_signal (stop.h), nothing more is read */
    size_t piece_size;  /* of a keys_piece, from 1; 0: a MiB */
    size_t piece_least; /* bytes to wait for, but at the end of an input; 0: what comes will do */
};

#endif
