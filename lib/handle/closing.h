/* SPDX-License-Identifier: MIT
 * The end of the handle of one image. */
#ifndef BLOOMFILE_HANDLE_CLOSING_H
#define BLOOMFILE_HANDLE_CLOSING_H

#include "live/handle.h"

/* Leaves the writers, and frees the handle. NULL is allowed. */
void handle_close(bloomfile_filter *f);

#endif
