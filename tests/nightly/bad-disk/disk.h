/* SPDX-License-Identifier: MIT
 * The failures of the disk, and the actions of other programs on it. */
#ifndef BAD_DISK_DISK_H
#define BAD_DISK_DISK_H

#include <stdbool.h>
#include <stddef.h>

/* From now on, writes to blocks that were never written fail: `ballast` takes all the space that
 * the disk's image could use. */
void disk_fail(const char *ballast);

/* The system writes the whole file system back; every program loses the result. */
void disk_write_back(const char *path);

/* Another program syncs the file. Returns whether it got an error. */
bool disk_fsync(const char *path);

/* Memory gets short: written pages leave it, either those that no process has mapped, or those
 * of a mapping of this process. */
void disk_drop(const char *path);
void disk_drop_mapped(const void *memory, size_t size);

#endif
