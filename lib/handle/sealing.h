/* SPDX-License-Identifier: MIT
 * Sealing a live file in place. */
#ifndef BLOOMFILE_HANDLE_SEALING_H
#define BLOOMFILE_HANDLE_SEALING_H

#include "live/handle.h"

/* Like bloomfile_seal(). If f->live is NULL afterwards, the filter is sealed, even after an
 * error. */
int sealing(bloomfile_filter *f, const uint8_t *watermark);

#endif
