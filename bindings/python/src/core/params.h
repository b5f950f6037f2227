/* SPDX-License-Identifier: MIT
 * Arguments for the parameters and the destination of a new filter. */
#ifndef BLOOMFILE_PYTHON_PARAMS_H
#define BLOOMFILE_PYTHON_PARAMS_H

#include <bloomfile.h>

#include "state.h"

struct params {
    struct bloomfile_params c; /* strings in it belong to the objects below, or to the arguments */
    PyObject *path, *path_bytes;
    PyObject *spool, *spool_bytes;
    int replace, exact, sole, over_capacity;
};

/* Builder(fpr=None, *, layout, bits, ..., threads, memory, spool, slice, slices, over_capacity) */
bool params_of_builder(struct params *p, PyObject *args, PyObject *keywords);

/* create(path, capacity=0, fpr=None, *, layout, bits, ..., grow, generations, every, exact,
 * over_capacity, replace)
 */
bool params_of_file(struct params *p, PyObject *args, PyObject *keywords);

/* memory(capacity=0, fpr=None, *, the same without a file, sole_adder) */
bool params_of_memory(struct params *p, PyObject *args, PyObject *keywords);

/* The keyword-only arguments of these two functions, for docstrings. */
#define LIVE_MAKING                                                                                \
    "layout=None, bits=0, hashes=0, seed=0, label=None, tag=b'', key_kind=None, grow=False, "      \
    "generations=0, every=None, exact=False, over_capacity=False, watermark=b''"

/* Call it after any of these, even if it failed. */
void params_end(struct params *p);

/* The file that a method writes, by its arguments (path, *, replace=False). */
struct destination {
    PyObject *path, *bytes; /* `to` has the path of the second */
    struct bloomfile_destination to;
};

/* By a format "O&|$p:METHOD". Returns false with an exception set. */
bool destination_parse(struct destination *d, const char *format, PyObject *args,
                       PyObject *keywords);

/* Always call this. Returns the result of the method: None, or NULL with the exception of `error`,
 * or with the exception that prevented the call of the library. */
PyObject *destination_end(struct destination *d, struct state *state, bool called, int error);

#endif
