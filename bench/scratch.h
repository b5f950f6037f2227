/* SPDX-License-Identifier: MIT
 *
 * A folder for files that are gone when the program ends, at its end or by a signal.
 */
#ifndef BLOOMFILE_BENCH_SCRATCH_H
#define BLOOMFILE_BENCH_SCRATCH_H

#include <stdint.h>

/* Makes the folder "<where>/<name>.XXXXXX"; at most one a program. bench_fail() if `where` has less
 * than `room` bytes free. where NULL: $TMPDIR, or /var/tmp. */
void scratch_make(const char *where, const char *name, uint64_t room);

/* The folder. */
const char *scratch_folder(void);

/* The path of a file in it, which will be removed. Each name is one of at most 8. */
const char *scratch_path(const char *name);

#endif
