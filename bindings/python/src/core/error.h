/* SPDX-License-Identifier: MIT
 * Errors of the library as exceptions. */
#ifndef BLOOMFILE_PYTHON_ERROR_H
#define BLOOMFILE_PYTHON_ERROR_H

#include <bloomfile_inspect.h>

#include "state.h"

/* The exception of an error that is not 0: a subclass of bloomfile.Error, or of OSError. `path` and
 * `fault` may be NULL. */
PyObject *error_new(struct state *state, int error, PyObject *path,
                    const struct bloomfile_fault *fault);

#define ERROR_RAISED (-1) /* no error of the library: an exception is set, which stays */

/* Sets the exception of error_new(). Always returns NULL. */
PyObject *error_raise(struct state *state, int error, PyObject *path);
PyObject *error_raise_fault(struct state *state, int error, PyObject *path,
                            const struct bloomfile_fault *fault);

/* Sets the attribute `done` of the current exception: the number of keys that were added. */
void error_set_done(size_t done);

/* Like error_raise(), for a key that is refused. Takes ownership of `asked`; if that is NULL, an
 * exception is already set. */
PyObject *error_raise_key(struct state *state, int error, PyObject *path, PyObject *asked,
                          size_t done);

/* Like error_raise(), with the refused parameter, such as "threads=1025". Takes ownership of
 * `asked`. NULL: the parameter is unknown; an exception that is already set is kept. */
PyObject *error_raise_asked(struct state *state, int error, PyObject *path, PyObject *asked);

/* "fpr=2.0", for that. Returns NULL with an exception set. */
PyObject *error_fpr(const char *name, double fpr);

/* After EFULL of an add: the numbers of keys, and the remedy. Returns NULL for every other error,
 * or with an exception set. */
PyObject *error_full(int error, const bloomfile_filter *f);
PyObject *error_threads(uint32_t threads);
PyObject *error_key_size(uint32_t size);

/* Like error_raise(), for an error about a parameter in `params`. */
PyObject *error_raise_params(struct state *state, int error, PyObject *path,
                             const struct bloomfile_params *params);

#endif
