/* SPDX-License-Identifier: MIT
 * Public structs that begin with struct_size, between callers and libraries of different versions.
 */
#ifndef BLOOMFILE_VERSIONED_H
#define BLOOMFILE_VERSIONED_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* Takes a caller's struct into ours. Members that an older caller does not have become zero; a
 * member that we do not know must be zero: false if not, or if the caller's is smaller than
 * `least`. */
static inline bool versioned_take(void *ours, size_t our_size, const void *theirs,
                                  size_t their_size, size_t least)
{
    if (their_size < least)
        return false;
    for (size_t i = our_size; i < their_size; i++)
        if (((const uint8_t *)theirs)[i] != 0)
            return false;
    memset(ours, 0, our_size);
    memcpy(ours, theirs, their_size < our_size ? their_size : our_size);
    return true;
}

/* Gives ours to a caller: what he has room for, zero in members that we do not know, and his own
 * struct_size, the first member. */
static inline void versioned_give(void *theirs, size_t their_size, const void *ours,
                                  size_t our_size)
{
    const size_t first = sizeof(size_t);
    if (their_size <= first)
        return;
    size_t shared = their_size < our_size ? their_size : our_size;
    memcpy((uint8_t *)theirs + first, (const uint8_t *)ours + first, shared - first);
    memset((uint8_t *)theirs + shared, 0, their_size - shared);
}

#endif
