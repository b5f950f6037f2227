/* SPDX-License-Identifier: MIT
 * renameat2() for C libraries that do not have it (musl). */
#ifndef BLOOMFILE_PUBLISH_RENAME_H
#define BLOOMFILE_PUBLISH_RENAME_H

#include <stdio.h>

#ifndef RENAME_NOREPLACE
#define RENAME_NOREPLACE (1u << 0)
int renameat2(int from, const char *old_name, int to, const char *new_name, unsigned flags);
#endif

#endif
