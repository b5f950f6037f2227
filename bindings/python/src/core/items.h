/* SPDX-License-Identifier: MIT
 * What the items of a buffer are, by its format as the module struct and PEP 3118 write it. */
#ifndef BLOOMFILE_PYTHON_ITEMS_H
#define BLOOMFILE_PYTHON_ITEMS_H

#include "python.h"

/* NULL: their bytes are their value, the same for equal items and on every machine: little-endian
 * integers, bytes, and structs of such without padding. Else why not, for a message. */
const char *items_unfit(const char *format, Py_ssize_t size);

/* Whether they are numbers in this machine's order, of this size, whose code is one of `codes`. */
bool items_are(const Py_buffer *view, size_t size, const char *codes);

/* The size of items that are integers of any width in this machine's order, negative if they have a
 * sign; else 0. */
Py_ssize_t items_integers(const Py_buffer *view);

#endif
