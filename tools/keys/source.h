/* SPDX-License-Identifier: MIT
 *
 * One input after another as bytes: a file or standard input, as it is or unpacked.
 */
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

/* Looks at an input before any is read. Returns 0, or the error that reading it will have; sets
 * *size, 0 if that is not known. */
int source_survey(const char *path, uint64_t *size);

/* Begins as all zero, but for the first two. */
struct source {
    bool packed;    /* gzip and zstd data are unpacked */
    bool stoppable; /* an interrupt_signal (interrupt.h) ends each wait */
    bool is_open;
    int fd;
    struct stat before; /* of a regular file, when it was opened; of others all zero */
    struct unpack *unpack;
    uint64_t bytes; /* read so far, of all inputs, as they are */
};

/* Returns 0 or an errno. */
int source_open(struct source *s, const char *path);

/* As read(2); -1 too if there is a interrupt_signal, or what is packed is damaged, or at the end if
 * the file has become shorter or was overwritten, so that keys may have gone unread: then the
 * reason. One that was overwritten and is longer now passes for one that has grown. */
ssize_t source_read(struct source *s, uint8_t *to, size_t size, const char **reason);

void source_close(struct source *s);

#endif
