/* SPDX-License-Identifier: MIT
 * Arguments that Python's own parser takes wrongly or not at all: "O&" in its formats. */
#ifndef BLOOMFILE_PYTHON_CONVERT_H
#define BLOOMFILE_PYTHON_CONVERT_H

#include <bloomfile.h>

#include "python.h"

/* PyArg_ParseTupleAndKeywords(), but for a keyword that the function does not have: the TypeError
 * lists the keywords that it has. */
#define PARSE(args, keywords, format, names, ...)                                                  \
    (convert_knows(keywords, format, names) &&                                                     \
     PyArg_ParseTupleAndKeywords(args, keywords, format, names, __VA_ARGS__))
bool convert_knows(PyObject *keywords, const char *format, char *const *names);

/* Integers of 64 and 32 bits; larger integers raise an OverflowError. */
int convert_u64(PyObject *object, void *u64);
int convert_u32(PyObject *object, void *u32);

/* The name of a layout, or None: 0. */
int convert_layout(PyObject *object, void *u32);

/* A rate, or None: 0. An invalid rate stays invalid. */
int convert_fpr(PyObject *object, void *value);

/* The rate that convert_fpr() was given, even 0, which is invalid. */
double convert_given(double fpr);

/* At most 16 and 32 bytes; the rest is zero. */
int convert_tag(PyObject *object, void *tag);
int convert_watermark(PyObject *object, void *watermark);

/* A path as str, and the bytes of one. */
int convert_path(PyObject *object, void *str);
PyObject *path_bytes(PyObject *str);

#endif
