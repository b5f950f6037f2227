/* SPDX-License-Identifier: MIT
 * The contents of a header, as dataclasses. */
#ifndef BLOOMFILE_PYTHON_INFO_H
#define BLOOMFILE_PYTHON_INFO_H

#include <bloomfile_inspect.h>

#include "state.h"

/* bloomfile.Info or bloomfile.Header. Returns NULL with an exception set. */
PyObject *info_object(struct state *state, const char *class_name,
                      const struct bloomfile_info *info);

/* (Header, [(error, offset, page, field), ...]) of the first bytes of an image of that size. */
PyObject *info_inspect(PyObject *module, PyObject *args);

/* The layout's name; its number if it is unknown. */
PyObject *info_layout_object(uint32_t layout);

#endif
