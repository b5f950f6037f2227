/* SPDX-License-Identifier: MIT
 * The operation tables of handles of a single image. Those of a series are in series/open.c. */
#ifndef BLOOMFILE_HANDLE_OPERATIONS_H
#define BLOOMFILE_HANDLE_OPERATIONS_H

#include "live/handle.h"

extern const struct handle_operations operations_sealed, operations_live;

#endif
