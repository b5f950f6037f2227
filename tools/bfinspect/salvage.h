/* SPDX-License-Identifier: MIT
 *
 * Reading a mapped file that may shrink meanwhile, or whose disk may fail. That is no error code
 * but the signal SIGBUS, in whichever thread reads.
 */
#ifndef BLOOMFILE_TOOLS_SALVAGE_H
#define BLOOMFILE_TOOLS_SALVAGE_H

#include <stdbool.h>
#include <stddef.h>

/* From now on bytes of the mapping that cannot be read are zeros, with all that follow. One mapping
 * at a time; it begins a page. */
void salvage_begin(const void *mapping, size_t size);

/* Until now. true: there were some, and what has been read is worth nothing. */
bool salvage_end(void);

/* Whether there were some so far. */
bool salvage_failed(void);

#endif
