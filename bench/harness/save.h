/* SPDX-License-Identifier: MIT
 *
 * Reports in files of their own.
 */
#ifndef BLOOMFILE_BENCH_SAVE_H
#define BLOOMFILE_BENCH_SAVE_H

#include <stdio.h>

/* Lets `write` write *what to the file, which appears whole or not at all; bench_fail() if it
 * cannot. path NULL: no file is wanted. */
void save(const char *path, void (*write)(FILE *out, const void *what), const void *what);

#endif
