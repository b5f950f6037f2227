/* SPDX-License-Identifier: MIT
 *
 * A folder for files, which is removed when the program ends, even if a signal ends it.
 */
#ifndef BLOOMFILE_BENCH_SCRATCH_H
#define BLOOMFILE_BENCH_SCRATCH_H

#include <stdint.h>

/* Makes the folder "<where>/<name>.XXXXXX" and enters it. Call it once, before threads are started.
 * If `where` is NULL, it is $TMPDIR or /var/tmp. Calls bench_fail() without `room` bytes free. */
void scratch_make(const char *where, const char *name, uint64_t room);

/* Removes a file, or a folder with its contents. */
void scratch_remove(const char *path);

/* Drops the files of a folder and its subfolders from the page cache, unless a process has them
 * mapped. Returns the share of their pages that stayed. */
double scratch_evict(const char *path);

/* Prints a warning to standard error if pages stayed. */
void scratch_report_stayed(void);

#endif
