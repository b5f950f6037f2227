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

/* Sets it; always NULL. */
PyObject *error_raise(struct state *state, int error, PyObject *path);
PyObject *error_raise_fault(struct state *state, int error, PyObject *path,
                            const struct bloomfile_fault *fault);

/* The same with the number of keys that were added before it. */
PyObject *error_raise_done(struct state *state, int error, PyObject *path, size_t done);

/* The same for a key that is refused. Takes `asked` over; NULL: an exception is set. */
PyObject *error_raise_key(struct state *state, int error, PyObject *path, PyObject *asked,
                          size_t done);

/* The same with the parameter that is refused, such as "threads=1025". NULL: it is not known, or,
 * an exception that is set stays. Takes `asked` over. */
PyObject *error_raise_asked(struct state *state, int error, PyObject *path, PyObject *asked);

/* "fpr=2.0", for that. NULL: an exception is set. */
PyObject *error_fpr(const char *name, double fpr);
PyObject *error_threads(uint32_t threads);
PyObject *error_key_size(uint32_t size);

/* The same for an error about a parameter in `params`. */
PyObject *error_raise_params(struct state *state, int error, PyObject *path,
                             const struct bloomfile_params *params);

#endif
