/* SPDX-License-Identifier: MIT
 * Memory of zeros that fork() makes zeros again in the child: what belongs to one process. Mutexes
 * and read-write locks of zeros are free ones. */
#ifndef BLOOMFILE_WIPED_H
#define BLOOMFILE_WIPED_H

#include <stddef.h>

/* 0 or an errno; then *out is NULL. */
int wiped_new(void **out, size_t size);

/* NULL is allowed. */
void wiped_free(void *memory, size_t size);

#endif
