/* SPDX-License-Identifier: MIT
 * Public structs that begin with struct_size, so that caller and library may differ in version. */
#ifndef BLOOMFILE_FORMAT_VERSIONED_STRUCT_H
#define BLOOMFILE_FORMAT_VERSIONED_STRUCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* The largest struct_size accepted: larger than any struct will grow, and smaller than most
 * uninitialised values. */
#define VERSIONED_MOST 1024

/* The size of a struct in version 1.0, the oldest that callers may use; `last` was its last
 * member. */
#define VERSIONED_LEAST(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

/* Returns whether a version of the struct could have that size. */
static inline bool versioned_known(size_t size, size_t least)
{
    return size >= least && size <= VERSIONED_MOST;
}

/* Copies the caller's struct to ours. Members that an older caller lacks become zero. Returns false
 * if a member that only a newer caller has is not zero, or if no version has the caller's size. */
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

/* Copies our struct to the caller's, whose size was checked. Members that only a newer caller has
 * become zero. The first member, struct_size, keeps the caller's value. */
static inline void versioned_give(void *theirs, size_t their_size, const void *ours,
                                  size_t our_size)
{
    const size_t first = sizeof(size_t);
    size_t shared = their_size < our_size ? their_size : our_size;
    memcpy((uint8_t *)theirs + first, (const uint8_t *)ours + first, shared - first);
    memset((uint8_t *)theirs + shared, 0, their_size - shared);
}

#endif
