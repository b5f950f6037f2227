/* SPDX-License-Identifier: MIT
 * The state of the module in one interpreter. */
#ifndef BLOOMFILE_STATE_H
#define BLOOMFILE_STATE_H

#include "python.h"

struct state {
    PyTypeObject *filter, *live, *builder, *answers;
    PyObject *errors;  /* bloomfile.errors; NULL until the first error */
    PyObject *records; /* bloomfile.records: dataclasses */
    PyObject *columns; /* bloomfile.columns; NULL until the first column */
};

extern struct PyModuleDef module_definition;

/* The state of the module that made this type, or a base of it. Returns NULL with an exception
 * set. */
struct state *state_of(PyTypeObject *type);

#endif
