/* SPDX-License-Identifier: MIT
 * Closing the handle of a single image. */
#ifndef BLOOMFILE_HANDLE_CLOSING_H
#define BLOOMFILE_HANDLE_CLOSING_H

#include "live/handle.h"

/* Unregisters the handle as a writer, and frees it. NULL is allowed. */
void handle_close(bloomfile_filter *f);

#endif
