/* SPDX-License-Identifier: MIT
 * Arrow arrays, read through the C data interface: from pyarrow, polars and other packages. */
#ifndef BLOOMFILE_PYTHON_ARROW_H
#define BLOOMFILE_PYTHON_ARROW_H

#include "take.h"

/* false: `keys` are not of Arrow, and no exception is set. Else *result is the method's: NULL with
 * an exception. */
bool arrow_batch(const struct taker *taker, PyObject *keys, PyObject *out, PyObject **result);

#endif
