/* SPDX-License-Identifier: MIT
 * Detection of programs that are adding to a live filter. */
#ifndef TOOLS_FILTERS_WRITERS_H
#define TOOLS_FILTERS_WRITERS_H

#include <stdbool.h>

/* Whether somebody has the file of this descriptor open for adding, or seals it. */
bool writers_have(int fd);

/* The same for a path; false too if it cannot be told. */
bool writers_have_file(const char *path);

#endif
