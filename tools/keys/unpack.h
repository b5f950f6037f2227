/* SPDX-License-Identifier: MIT
 * Decompression of gzip and zstd inputs, recognized by their first bytes. An input may have several
 * members or frames. Other inputs pass unchanged. */
#ifndef TOOLS_KEYS_UNPACK_H
#define TOOLS_KEYS_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct unpack;

/* Whether a file that begins with these bytes is compressed. Pass four bytes, or all if
 * it has fewer. */
bool unpack_is_packed(const uint8_t *bytes, size_t size);

/* Like read(2). */
typedef ssize_t unpack_reader(void *context, uint8_t *to, size_t size);

/* Running out of memory ends the program through cli_fail(). */
struct unpack *unpack_new(unpack_reader *reader, void *context);

/* Reads the next bytes, at least one and at most `size`. Returns 0 at the end. Returns -1 if the
 * data is damaged or ends too early, which unpack_trouble() describes, or if the reader failed,
 * with errno set; then unpack_trouble() is NULL. Data from a pipe is not held back. */
ssize_t unpack_read(struct unpack *u, uint8_t *to, size_t size);

/* Describes an error: "its gzip data is cut off". NULL: no error in the data. */
const char *unpack_trouble(const struct unpack *u);

void unpack_free(struct unpack *u); /* u may be NULL */

#endif
