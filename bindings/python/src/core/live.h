/* SPDX-License-Identifier: MIT
 * The class LiveFilter. */
#ifndef BLOOMFILE_PYTHON_LIVE_H
#define BLOOMFILE_PYTHON_LIVE_H

#include "python.h"

extern PyType_Spec live_spec;

#endif
