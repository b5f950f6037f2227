/* SPDX-License-Identifier: MIT
 * The state of the module in one interpreter. */
#ifndef BLOOMFILE_STATE_H
#define BLOOMFILE_STATE_H

#include "python.h"

struct state {
    PyObject *module; /* borrowed; objects that use the state refer to it */
    PyTypeObject *filter, *live, *builder, *answers; /* these and the rest: NULL at the end */
    PyObject *errors;  /* bloomfile.errors; NULL until the first error */
    PyObject *records; /* bloomfile.records: dataclasses */
    PyObject *columns; /* bloomfile.columns; NULL until the first column */
};

extern struct PyModuleDef module_definition;

/* The state of the module that made this type, or a base of it. Returns NULL with an exception
 * set. */
struct state *state_of(PyTypeObject *type);

/* Returns false, with an exception set, after the interpreter has cleared the module. */
bool state_is_usable(const struct state *state);

#endif
