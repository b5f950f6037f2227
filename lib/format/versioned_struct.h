/* SPDX-License-Identifier: MIT
 * Public structs that begin with struct_size, so that caller and library may differ in version. */
#ifndef BLOOMFILE_FORMAT_VERSIONED_STRUCT_H
#define BLOOMFILE_FORMAT_VERSIONED_STRUCT_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

/* A larger struct_size is refused. No struct will reach it; most uninitialised sizes exceed it. */
#define VERSIONED_MOST 1024

/* The size of a struct in version 1.0, the oldest version of callers; `last` is its last member. */
#define VERSIONED_LEAST(type, last) (offsetof(type, last) + sizeof(((type *)0)->last))

/* Whether some version of the struct can have that size. */
static inline bool versioned_known(size_t size, size_t least)
{
    return size >= least && size <= VERSIONED_MOST;
}

/* Copies a caller's struct to ours. Members that an older caller lacks become zero. Returns false
 * if members that only a newer caller has are not zero, or if no version has the caller's size. */
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

/* Copies our struct to a caller's, whose size has been checked. Members that only the caller has
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
