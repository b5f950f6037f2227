/* SPDX-License-Identifier: MIT
 * Surviving SIGBUS while mapped files are read. The kernel sends it to the reading thread if a file
 * shrinks or its disk fails. */
#ifndef TOOLS_BFINSPECT_BUS_ERRORS_H
#define TOOLS_BFINSPECT_BUS_ERRORS_H

#include <stdbool.h>
#include <stddef.h>

enum {
    BUS_ERROR_MOST = 1000 /* mappings */
};

/* After bus_error_begin(), unreadable bytes of the added mappings, and all bytes after them in the
 * same mapping, read as zeros. Mappings beyond BUS_ERROR_MOST are not protected. */
void bus_error_begin(void);
void bus_error_add(const void *mapping, size_t size);

/* Ends the protection. Returns true if a read failed, so that the results are worthless. */
bool bus_error_end(void);

/* Whether a read has failed so far. */
bool bus_error_failed(void);

#endif
