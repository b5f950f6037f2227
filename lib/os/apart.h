/* SPDX-License-Identifier: MIT
 * Away from the descriptors of the standard streams. */
#ifndef BLOOMFILE_APART_H
#define BLOOMFILE_APART_H

/* The descriptors below this one are the standard streams, even while a program has closed them:
 * what it then writes to them must not go to a file of ours. */
#define FILE_LEAST 3

/* Takes over a new descriptor, and returns one that is none of these; -1 and errno: it is closed,
 * or was -1. */
int file_apart(int fd);

#endif
