/* SPDX-License-Identifier: MIT
 *
 * The pages of files in the page cache. The tests use it too.
 */
#ifndef BLOOMFILE_BENCH_RESIDENCE_H
#define BLOOMFILE_BENCH_RESIDENCE_H

#include <stddef.h>
#include <stdint.h>

/* Takes the file, which nobody has mapped, out of the page cache, as far as the file system lets
 * it. 0, or an errno. */
int residence_drop(const char *path);

/* How many pages of the file are in the page cache; *error: 0 or an errno. */
size_t residence_pages(const char *path, int *error);

/* Does so with all files in a folder, and in those in it. *stayed: which share of their pages is in
 * the page cache still. 0, or an errno. */
int residence_drop_all(const char *folder, double *stayed);

/* How many bytes this process has had read from disks; 0 if the system does not tell. */
uint64_t residence_read_bytes(void);

#endif
