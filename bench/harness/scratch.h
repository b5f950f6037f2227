/* SPDX-License-Identifier: MIT
 *
 * Folders for files, which are gone when the program is, whatever ended it.
 */
#ifndef BLOOMFILE_BENCH_SCRATCH_H
#define BLOOMFILE_BENCH_SCRATCH_H

#include <stdint.h>

/* Makes the folder "<where>/<name>.XXXXXX"; at most two a program, before threads are started.
 * bench_fail() if `where` has less than `room` bytes free. where NULL: $TMPDIR, or /var/tmp. */
void scratch_make(const char *where, const char *name, uint64_t room);

/* The path of the folder made last. */
const char *scratch_folder(void);

/* Makes that folder the current one. */
void scratch_enter(void);

/* Removes a file, or a folder and all that is in it. */
void scratch_remove(const char *path);

#endif
