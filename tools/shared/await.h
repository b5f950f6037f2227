/* SPDX-License-Identifier: MIT
 *
 * read() that always waits: a program that shares an input may have made it one that does not.
 */
#ifndef BLOOMFILE_TOOLS_AWAIT_H
#define BLOOMFILE_TOOLS_AWAIT_H

#include <stddef.h>
#include <sys/types.h>

/* As read(2), but it goes on after signals. */
ssize_t await_read(int fd, void *to, size_t size);

#endif
