/* SPDX-License-Identifier: MIT
 * The class Answers: the results of a batch, a bool or a null for each key. */
#ifndef BLOOMFILE_PYTHON_ANSWERS_H
#define BLOOMFILE_PYTHON_ANSWERS_H

#include "state.h"

extern PyType_Spec answers_spec;

/* Memory for answers, which answers_make() takes over; or realloc() and free() it. */
unsigned char *answers_room(unsigned char *old, size_t n);
void answers_free(unsigned char *bytes);

/* n answers, 0 or 1. `valid` has a 0 for each null; NULL: there are no nulls. Takes ownership of
 * both, even on failure. Returns NULL with an exception set. */
PyObject *answers_make(struct state *state, unsigned char *bytes, unsigned char *valid, size_t n);

#endif
