/* SPDX-License-Identifier: MIT
 *
 * A rank's share of the lines of a file: those that begin in its part of the bytes. So every line
 * belongs to one rank, however long it is, and no rank reads more than its part and the line that
 * reaches beyond it.
 */
#ifndef SHARD_H
#define SHARD_H

#include <bloomfile.h>

#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>

struct shard {
    FILE *file;
    uint64_t at, end; /* the next line; where the first one that is not ours may begin */
    char *line;
    size_t room; /* in `line` */
};

/* Opens a regular file and tells what it is. Returns 0, an errno or a BLOOMFILE_E*; what has to be
 * closed after an error too. */
int shard_open(struct shard *s, const char *path, struct stat *status);

/* Goes to the lines of `part`, one of `parts`, of the first `size` bytes. */
int shard_choose(struct shard *s, uint64_t size, unsigned part, unsigned parts);

/* The digest of the next line without its newline; *more is false at the end.
 * BLOOMFILE_ETRUNCATED: the file has become shorter. */
int shard_next(struct shard *s, uint64_t seed, bloomfile_digest *digest, bool *more);

void shard_close(struct shard *s);

#endif
