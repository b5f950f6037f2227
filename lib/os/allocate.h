/* SPDX-License-Identifier: MIT
 * Room on disk for a new file. */
#ifndef BLOOMFILE_ALLOCATE_H
#define BLOOMFILE_ALLOCATE_H

#include <stdbool.h>
#include <stdint.h>

/* Makes the file `size` bytes long. `reserve`: allocates every block, by writing zeros if the file
 * system offers no better way; otherwise only where that is cheap. */
int allocate_file(int fd, uint64_t size, bool reserve);

#endif
