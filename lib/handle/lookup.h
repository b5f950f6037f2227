/* SPDX-License-Identifier: MIT
 * Lookups in one image. */
#ifndef BLOOMFILE_HANDLE_LOOKUP_H
#define BLOOMFILE_HANDLE_LOOKUP_H

#include "format/hash.h"
#include "format/min.h"
#include "live/handle.h"

/* Chooses how a new handle of one image looks up; of a series, with the lookups in all layers.
 * named: an application's hash is known. */
void lookup_start_image(bloomfile_filter *f, bool named);
void lookup_start_series(bloomfile_filter *f, const struct doubtful_lookup *in_layers, bool named);

/* The file was sealed in place. */
void lookup_sealed(bloomfile_filter *f);

/* ---- Which function makes the digests that a handle is given. */

/* The lookups of a filter of an application's hash that was opened without its name. */
extern const struct doubtful_lookup lookup_unnamed;

/* Whether it is known: the library's, or the one that the application named when it opened the
 * filter. Else no lookup answers "no", and nothing can be added. */
static inline bool app_hash_is_named(const bloomfile_filter *f)
{
    return f->doubtful != &lookup_unnamed;
}

/* Remembers n lookups of keys whose digests are unknown; hits may be NULL. Returns n: "maybe". */
size_t app_hash_missed(const bloomfile_filter *f, size_t n, bool *hits);

/* Called if the library cannot make a digest that a caller wants. It makes the hash function
 * unknown for good, so that the caller's digest finds and adds nothing. Returns 0 as the digest. */
uint64_t app_hash_unmade(const bloomfile_filter *f);

/* ---- Hashes a batch of keys, a chunk at a time before it is probed: hashing keys of mixed
 * lengths mispredicts branches, which would discard lookups begun behind it, but not cache
 * lines requested. The lines of the keys themselves are requested a group ahead. */

#define LOOKUP_CHUNK 256 /* keys hashed at once, at most */
#define LOOKUP_GROUP 16  /* of these, keys whose lines are requested together */

/* The first and the last line of each key. */
static inline void lookup_request_keys(const struct bloomfile_key *keys, size_t n)
{
    for (size_t i = 0; i < n; i++) {
        const char *data = keys[i].data;
        __builtin_prefetch(data);
        __builtin_prefetch((const void *)((uintptr_t)data + keys[i].size));
    }
}

static inline void lookup_digests(const bloomfile_filter *f, const struct bloomfile_key *keys,
                                  size_t n, uint64_t *digests)
{
    for (size_t start = 0, count; (count = MIN(n - start, LOOKUP_GROUP)) > 0; start += count) {
        const size_t end = start + count;
        lookup_request_keys(keys + end, MIN(n - end, LOOKUP_GROUP));
        for (size_t i = start; i < end; i++)
            digests[i] = hash_key(f->header.seed, keys[i].data, keys[i].size);
        f->kernel->expect(&f->view, digests + start, end - start);
    }
}

#endif
