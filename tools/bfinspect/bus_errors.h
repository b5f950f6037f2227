/* SPDX-License-Identifier: MIT
 *
 * Reads of mapped files that may shrink concurrently, or whose disk may fail. The kernel reports
 * that not by an error code but by SIGBUS, in whichever thread reads.
 */
#ifndef TOOLS_BFINSPECT_BUS_ERRORS_H
#define TOOLS_BFINSPECT_BUS_ERRORS_H

#include <stdbool.h>
#include <stddef.h>

enum {
    BUS_ERROR_MOST = 1000 /* mappings */
};

/* From now on, unreadable bytes of the mappings that are added, and all behind them in the same
 * one, read as zeros. Those beyond BUS_ERROR_MOST are left alone. */
void bus_error_begin(void);
void bus_error_add(const void *mapping, size_t size);

/* Ends that. true: there were some, and what has been read is worthless. */
bool bus_error_end(void);

/* Whether there have been any so far. */
bool bus_error_failed(void);

#endif
