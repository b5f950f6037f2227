/* SPDX-License-Identifier: MIT
 * Public structs that begin with struct_size, exchanged between versions of caller and library. */
#ifndef BLOOMFILE_FORMAT_VERSIONED_STRUCT_H
#define BLOOMFILE_FORMAT_VERSIONED_STRUCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define VERSIONED_MOST 1024 /* no struct will outgrow it; an uninitialised size is rarely below */

/* The size of a struct whose last member was `last` in version 1.0, the oldest that callers have.
 */
#define VERSIONED_LEAST(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

/* Whether some version of the struct can have that size. */
static inline bool versioned_known(size_t size, size_t least)
{
    return size >= least && size <= VERSIONED_MOST;
}

/* Copies a caller's struct into ours. Members that an older caller lacks become zero; a newer
 * caller's extra members must be zero. False if they are not, or if no version has the caller's
 * size. */
static inline bool versioned_take(void *ours, size_t our_size, const void *theirs,
                                  size_t their_size, size_t least)
{
    if (!versioned_known(their_size, least))
        return false;
    for (size_t i = our_size; i < their_size; i++)
        if (((const uint8_t *)theirs)[i] != 0)
            return false;
    memset(ours, 0, our_size);
    memcpy(ours, theirs, their_size < our_size ? their_size : our_size);
    return true;
}

/* Copies ours to a caller, whose size is known: as much as fits, and zero in members that we do not
 * know. The first member, struct_size, stays the caller's. */
static inline void versioned_give(void *theirs, size_t their_size, const void *ours,
                                  size_t our_size)
{
    const size_t first = sizeof(size_t);
    size_t shared = their_size < our_size ? their_size : our_size;
    memcpy((uint8_t *)theirs + first, (const uint8_t *)ours + first, shared - first);
    memset((uint8_t *)theirs + shared, 0, their_size - shared);
}

#endif
