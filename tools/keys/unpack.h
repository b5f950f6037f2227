/* SPDX-License-Identifier: MIT
 *
 * Unpacking of inputs: gzip and zstd, recognized by their first bytes, with several members or
 * frames one after the other. Other inputs pass unchanged.
 */
#ifndef TOOLS_KEYS_UNPACK_H
#define TOOLS_KEYS_UNPACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct unpack;

/* Whether a file that begins with these bytes, four if it has so many, is packed. */
bool unpack_is_packed(const uint8_t *bytes, size_t size);

/* As read(2). */
typedef ssize_t unpack_reader(void *context, uint8_t *to, size_t size);

/* Ends the program by cli_fail for lack of memory. */
struct unpack *unpack_new(unpack_reader *reader, void *context);

/* The next bytes, at least one of `size`; 0: the end. -1: what the reader failed with is in errno;
 * or, if unpack_trouble() is not NULL, the data is damaged, or ends too early. What comes from a
 * pipe is not held back. */
ssize_t unpack_read(struct unpack *u, uint8_t *to, size_t size);

/* "its gzip data is cut off". */
const char *unpack_trouble(const struct unpack *u);

void unpack_free(struct unpack *u); /* or NULL */

#endif
