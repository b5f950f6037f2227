/* SPDX-License-Identifier: MIT
 * Hashes a batch of keys, a chunk at a time before it is probed: hashing keys of mixed lengths
 * mispredicts branches, which would discard lookups begun behind it, but not cache lines
 * requested. The lines of the keys themselves are requested a group ahead. */
#ifndef BLOOMFILE_KEYS_H
#define BLOOMFILE_KEYS_H

#include "format/hash.h"
#include "handle/handle.h"

#define KEYS_CHUNK 256 /* keys hashed at once, at most */
#define KEYS_GROUP 16  /* of these, keys whose lines are requested together */

/* The first and the last line of each key. */
static inline void keys_request(const struct bloomfile_key *keys, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *data = keys[i].data;
        __builtin_prefetch(data);
        __builtin_prefetch((const void *)((uintptr_t)data + keys[i].size));
    }
}

static inline void keys_digests(const bloomfile *f, const struct bloomfile_key *keys, size_t n,
                                uint64_t *digests)
{
    for (size_t start = 0; start < n; start += KEYS_GROUP) {
        const size_t end = n - start < KEYS_GROUP ? n : start + KEYS_GROUP;
        keys_request(keys + end, n - end < KEYS_GROUP ? n - end : KEYS_GROUP);
        for (size_t i = start; i < end; i++)
            digests[i] = hash_key(f->header.seed, keys[i].data, keys[i].size);
        f->kernel->expect(&f->view, digests + start, end - start);
    }
}

#endif
