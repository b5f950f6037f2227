/* SPDX-License-Identifier: MIT
 * Functions of the module that share out digests to slices. */
#ifndef BLOOMFILE_PYTHON_SLICE_H
#define BLOOMFILE_PYTHON_SLICE_H

#include "python.h"

extern PyMethodDef slice_methods[];

#endif
