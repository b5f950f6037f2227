/* SPDX-License-Identifier: MIT
 *
 * Reading mapped files that may shrink meanwhile, or whose disk may fail. That is no error code
 * but the signal SIGBUS, in whichever thread reads.
 */
#ifndef BLOOMFILE_TOOLS_SALVAGE_H
#define BLOOMFILE_TOOLS_SALVAGE_H

#include <stdbool.h>
#include <stddef.h>

enum {
    SALVAGE_MOST = 1000 /* mappings */
};

/* From now on, unreadable bytes of the mappings that are added, and all behind them in the same
 * one, read as zeros. Those beyond SALVAGE_MOST are left alone. */
void salvage_begin(void);
void salvage_add(const void *mapping, size_t size);

/* Ends that. true: there were some, and what has been read is worthless. */
bool salvage_end(void);

/* Whether there have been any so far. */
bool salvage_failed(void);

#endif
