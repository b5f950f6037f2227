/* SPDX-License-Identifier: MIT
 * Reading the bytes of the inputs in turn: files or standard input, unchanged or decompressed. */
#ifndef TOOLS_KEYS_SOURCE_H
#define TOOLS_KEYS_SOURCE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

struct unpack;

/* The name for messages: "standard input" for "-". */
const char *source_name(const char *path);

/* Examines an input before the first is read. Returns 0, or the error that reading it would return.
 * Sets *size to the number of its remaining bytes, 0 if unknown. */
int source_survey(const char *path, uint64_t *size);

/* Initialize it with zeros, except the first two members. */
struct source {
    bool packed;    /* decompress gzip and zstd data */
    bool stoppable; /* an interrupt_signal (interrupt.h) ends each wait */
    bool is_open;
    int fd;
    struct stat before; /* of a regular file, when it was opened; zeros for other files */
    struct unpack *unpack;
    uint64_t bytes; /* read so far from all inputs, before decompression */
};

/* Returns 0 or an errno. */
int source_open(struct source *s, const char *path);

/* Like read(2). Also returns -1 after an interrupt_signal, or if compressed data is damaged. At the
 * end it returns -1, and sets *reason, if the file shrank or was overwritten, because keys may be
 * missing. A file that was overwritten and is now longer is not detected: it looks like a file that
 * has grown. */
ssize_t source_read(struct source *s, uint8_t *to, size_t size, const char **reason);

void source_close(struct source *s);

#endif
