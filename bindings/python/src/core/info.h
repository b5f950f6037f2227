/* SPDX-License-Identifier: MIT
 * What a header says, as dataclasses. */
#ifndef BLOOMFILE_PYTHON_INFO_H
#define BLOOMFILE_PYTHON_INFO_H

#include <bloomfile_inspect.h>

#include "state.h"

/* bloomfile.Info. NULL: an exception is set. */
PyObject *info_object(struct state *state, const struct bloomfile_info *info);

/* (Info, [(error, offset, page, field), ...]) of the first bytes of an image of that size. */
PyObject *info_inspect(PyObject *module, PyObject *args);

/* By enum bloomfile_key_kind; NULL: unknown. */
extern const char *const info_key_kinds[];

/* The number's name; NULL: it has none. */
const char *info_layout(uint32_t layout);

#endif
