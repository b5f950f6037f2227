/* SPDX-License-Identifier: MIT
 *
 * Reading a mapped file that may shrink meanwhile, or whose disk may fail. That is no error code
 * but the signal SIGBUS, in whichever thread reads.
 */
#ifndef BLOOMFILE_TOOLS_SALVAGE_H
#define BLOOMFILE_TOOLS_SALVAGE_H

#include <stdbool.h>
#include <stddef.h>

/* From now on, unreadable bytes of the mapping, and all behind them, read as zeros. One mapping at
 * a time; it begins at a page. */
void salvage_begin(const void *mapping, size_t size);

/* Ends that. true: there were some, and what has been read is worthless. */
bool salvage_end(void);

/* Whether there have been any so far. */
bool salvage_failed(void);

#endif
