/* SPDX-License-Identifier: MIT
 *
 * Files that are not in memory, and how much is read from disk.
 */
#ifndef COLD_H
#define COLD_H

#include <stdbool.h>
#include <stdint.h>

/* Drops the files of a directory, which nobody may have mapped, from the page cache. false: more
 * than a hundredth of their pages stayed there. */
bool evict(const char *directory);

/* Bytes that this process has caused to be read from disk; -1: the system does not tell. */
int64_t bytes_read_from_disk(void);

#endif
