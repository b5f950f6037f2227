/* SPDX-License-Identifier: MIT
 * The failures of the disk, and the work of other programs there. */
#ifndef BAD_DISK_DISK_H
#define BAD_DISK_DISK_H

#include <stdbool.h>
#include <stddef.h>

/* From here on writes to blocks that were never written fail: `ballast` takes all the room that is
 * left for the disk's image. */
void disk_fail(const char *ballast);

/* The system writes all of the file system back, and tells nobody what became of it. */
void disk_write_back(const char *path);

/* Another program syncs the file; whether it was told of an error. */
bool disk_fsync(const char *path);

/* Memory gets short: pages that need not be written to disk (any more) leave it, those that nobody
 * has mapped and those of a mapping of this process. */
void disk_drop(const char *path);
void disk_drop_mapped(const void *memory, size_t size);

#endif
