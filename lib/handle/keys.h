/* SPDX-License-Identifier: MIT
 *
 * Keys of a batch to digests. A chunk is hashed before it is probed: a hash of keys of mixed
 * lengths mispredicts branches, which would throw away the lookups begun behind it, but not the
 * cache lines requested. Those of the keys themselves, which may lie anywhere, are requested a
 * group ahead.
 */
#ifndef BLOOMFILE_KEYS_H
#define BLOOMFILE_KEYS_H

#include "format/hash.h"
#include "handle/handle.h"

#define KEYS_CHUNK 256 /* hashed at once, at most */
#define KEYS_GROUP 16  /* of them whose lines are requested at once */

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
