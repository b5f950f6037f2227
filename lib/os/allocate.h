/* SPDX-License-Identifier: MIT
 * Room on disk for a new file. */
#ifndef BLOOMFILE_ALLOCATE_H
#define BLOOMFILE_ALLOCATE_H

#include <stdbool.h>
#include <stdint.h>

/* Makes the new file `size` bytes long. `reserve`: allocates every block, by writing zeros if the
 * file system offers no better way; otherwise only where that is cheap. ENOSPC before anything is
 * allocated, if the file system has less room than that. Without `reserve`, where blocks cannot be
 * allocated in advance, that is left to the writes: the file system may compress them. */
int allocate_file(int fd, uint64_t size, bool reserve);

#endif
