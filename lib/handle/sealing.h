/* SPDX-License-Identifier: MIT
 * Sealing in place, the part that concerns the records (format-spec.md, section 13). */
#ifndef BLOOMFILE_SEALING_H
#define BLOOMFILE_SEALING_H

#include "format/header.h"

/* Ends a sealing that was cut off, or whose last write was torn: verifies the body, and writes the
 * record in force over the other one. EBUSY while it is still under way; BLOOMFILE_EPAGE, _EBODY;
 * an errno. *h is the header as it was read. */
int sealing_complete(int fd, struct header *h);

#endif
