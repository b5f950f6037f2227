/* SPDX-License-Identifier: MIT
 *
 * Bloom filters in files of other projects, recognized by their first bytes and their size.
 */
#ifndef TOOLS_KEYS_FOREIGN_FILTER_H
#define TOOLS_KEYS_FOREIGN_FILTER_H

#include <stddef.h>
#include <stdint.h>

/* The name of the project; NULL: not known. `bytes`: the first 40 of the file, or all. */
const char *foreign_filter(const uint8_t *bytes, size_t size, uint64_t file_size);

#endif
