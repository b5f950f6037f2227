/* SPDX-License-Identifier: MIT
 * The items of a buffer, by its format in the notation of the module struct and PEP 3118. */
#ifndef BLOOMFILE_PYTHON_ITEMS_H
#define BLOOMFILE_PYTHON_ITEMS_H

#include "python.h"

/* Returns NULL if equal items have equal bytes, on every machine: little-endian integers, bytes,
 * and structs of these without padding. Otherwise returns the reason, for a message. */
const char *items_unfit(const char *format, Py_ssize_t size);

/* Returns whether they are numbers in this machine's order, of this size, whose code is one of
 * `codes`. */
bool items_are(const Py_buffer *view, size_t size, const char *codes);

/* The size of items that are integers of any width in this machine's order, negative if they have a
 * sign; else 0. */
Py_ssize_t items_integers(const Py_buffer *view);

#endif
