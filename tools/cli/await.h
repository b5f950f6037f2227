/* SPDX-License-Identifier: MIT
 *
 * read() and write() that always wait: a program that shares a file may have made it one that does
 * not.
 */
#ifndef TOOLS_CLI_AWAIT_H
#define TOOLS_CLI_AWAIT_H

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>

/* As read(2), but it goes on after signals. */
ssize_t await_read(int fd, void *to, size_t size);

/* Writes all of it. false: errno says why not. */
bool await_write(int fd, const void *bytes, size_t size);

#endif
