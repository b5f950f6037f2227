/* SPDX-License-Identifier: MIT
 *
 * Bytewise sorting, in place, of keys that lie in one piece of memory.
 */
#ifndef BLOOMFILE_TOOLS_COMMON_ORDER_H
#define BLOOMFILE_TOOLS_COMMON_ORDER_H

#include <bloomfile.h>

struct entry {
    uint64_t chunk; /* for the sorting */
    uint64_t at;    /* where the key lies, after its size */
};

enum {
    ORDER_SIZE_BYTES = 4 /* of the size that stands before each key, a uint32_t */
};

/* The key at `at`. */
struct bloomfile_key order_key(const uint8_t *memory, uint64_t at);

void order_sort(const uint8_t *memory, struct entry *entries, size_t n);

#endif
