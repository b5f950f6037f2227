/* SPDX-License-Identifier: MIT
 *
 * The pages of files in the page cache. The tests use it too.
 */
#ifndef BLOOMFILE_BENCH_RESIDENCE_H
#define BLOOMFILE_BENCH_RESIDENCE_H

#include <stddef.h>
#include <stdint.h>

/* Drops a file from the page cache, as far as the file system allows it. No process may have it
 * mapped. Returns 0 or an errno. */
int residence_drop(const char *path);

/* The number of pages of the file in the page cache. *error is 0 or an errno. */
size_t residence_pages(const char *path, int *error);

/* Drops all files of a folder and its subfolders. *stayed is the share of their pages that is still
 * in the page cache. Returns 0 or an errno. */
int residence_drop_all(const char *folder, double *stayed);

/* The bytes that the kernel read from disks for this process; 0 if that is unknown. */
uint64_t residence_read_bytes(void);

#endif
