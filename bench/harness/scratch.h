/* SPDX-License-Identifier: MIT
 *
 * A folder for files, which is gone when the program is, whatever ended it.
 */
#ifndef BLOOMFILE_BENCH_SCRATCH_H
#define BLOOMFILE_BENCH_SCRATCH_H

#include <stdint.h>

/* Makes the folder "<where>/<name>.XXXXXX" and enters it; once a program, before threads are
 * started. bench_fail() if `where` has less than `room` bytes free. where NULL: $TMPDIR, or
 * /var/tmp. */
void scratch_make(const char *where, const char *name, uint64_t room);

/* Removes a file, or a folder and all that is in it. */
void scratch_remove(const char *path);

/* Takes the files in a folder and its folders out of memory, as far as nobody has them mapped.
 * Returns the share of their pages that stayed. */
double scratch_evict(const char *path);

/* Warns on standard error if any pages stayed. */
void scratch_report_stayed(void);

#endif
