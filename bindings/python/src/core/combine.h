/* SPDX-License-Identifier: MIT
 * Functions of the module that make filters, or patches, of filters. */
#ifndef BLOOMFILE_PYTHON_COMBINE_H
#define BLOOMFILE_PYTHON_COMBINE_H

#include "python.h"

extern PyMethodDef combine_methods[];

#endif
