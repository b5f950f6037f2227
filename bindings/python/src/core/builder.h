/* SPDX-License-Identifier: MIT
 * The class Builder. */
#ifndef BLOOMFILE_PYTHON_BUILDER_H
#define BLOOMFILE_PYTHON_BUILDER_H

#include "python.h"

extern PyType_Spec builder_spec;

#endif
