/* SPDX-License-Identifier: MIT
 * Where answers go: into a new object, or into the caller's own buffer. */
#ifndef BLOOMFILE_PYTHON_OUTPUT_H
#define BLOOMFILE_PYTHON_OUTPUT_H

#include "state.h"

#define OUTPUT_UNKNOWN SIZE_MAX /* a number of answers that is not known yet */

struct output {
    struct state *state;
    PyObject *result; /* a bytearray of digests, or the caller's object; NULL: `bytes` is our own */
    Py_buffer view;   /* of the latter */
    bool given;
    unsigned char *bytes;
    unsigned char *apart; /* until the end, answers lie here and not in the caller's buffer */
    unsigned char *valid; /* a byte for each answer, 0: it is null; NULL: there are no nulls */
    size_t width;         /* bytes of an answer; 0: no answers */
    size_t room;          /* answers */
    size_t done;
};

/* n answers of `width` bytes: 1, for Answers, or 8, for a bytearray of digests. Returns false with
 * an exception set, and there is nothing to end. */
bool output_begin(struct output *o, struct state *state, PyObject *given, size_t n, size_t width);

/* Sets the answer of all keys to 1 ("new" or "maybe") in the caller's buffer, so that a failure
 * cannot leave a 0 that was not computed. */
void output_presume(struct output *o);

/* Like output_presume(), for keys whose memory may overlap the caller's buffer: answers are
 * collected apart, and copied at the end. Returns false with an exception set; then call
 * output_end(). */
bool output_keep_apart(struct output *o);

/* For keys that fail before the first of them comes: presumes. NULL; the exception that is set
 * stays. */
PyObject *output_fail(PyObject *given, size_t width);

/* No answers. */
void output_none(struct output *o);

/* Where the next n answers go, until the next call; they are done then. Returns NULL with an
 * exception set (width not 0). */
unsigned char *output_next(struct output *o, size_t n);

/* The last n answers that output_next() gave out are null where `valid` is 0. Returns false with an
 * exception set, because a null has no digest, and no place in a buffer of the caller's. */
bool output_nulls(struct output *o, const unsigned char *valid, size_t n);

/* Returns the result, or NULL after a failure, and releases the buffers. */
PyObject *output_end(struct output *o, bool good);

#endif
