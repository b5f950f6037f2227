/* SPDX-License-Identifier: MIT
 *
 * Files that are not in memory, and what is read of them.
 */
#ifndef COLD_H
#define COLD_H

#include <stdint.h>

/* Drops the regular files of the folder from memory; a warning if a part stays. */
void cold_evict(const char *folder);

/* From now on, what is read of the files that are mapped and whose names end so is a page at a
 * time: the system would read up to a whole table around it. Forgets what has been read. */
void cold_map_pages_alone(const char *ending);

/* Bytes that this process has caused to be read from disks. */
uint64_t cold_bytes_read(void);

/* The sum of the sizes of the files whose names end so. */
uint64_t cold_size(const char *folder, const char *ending);

#endif
