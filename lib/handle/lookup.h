/* SPDX-License-Identifier: MIT
 * Lookups in one image. */
#ifndef BLOOMFILE_HANDLE_LOOKUP_H
#define BLOOMFILE_HANDLE_LOOKUP_H

#include "format/hash.h"
#include "live/handle.h"

/* The guard has doubts: of a slice or a layer, more than its permanent doubt. */
bool lookup_unchecked(const bloomfile *f, uint64_t digest);
size_t lookup_many_unchecked(const bloomfile *f, const uint64_t *digests, size_t n, bool *hits);

/* Of a live file. */
bool lookup_live(const bloomfile *f, uint64_t digest);
size_t lookup_many_live(const bloomfile *f, const uint64_t *digests, size_t n, bool *hits);

/* ---- Lookups in a slice of a filter (format-spec.md, section 23): "maybe" for what belongs to
 * another slice. */

bool slice_contains(const bloomfile *f, uint64_t digest);

/* hits may be NULL. Returns the number of hits. */
size_t slice_contains_many(const bloomfile *f, const uint64_t *digests, size_t n, bool *hits);

/* ---- Which function makes the digests that a handle is given. */

/* From now on no lookup answers "no", and nothing can be added. */
void app_hash_forget(bloomfile *f);

/* Remembers a lookup whose digest is unknown. Returns true: "maybe". */
bool app_hash_missed(const bloomfile *f);

/* The same for n of them; hits may be NULL. Returns n. */
size_t app_hash_missed_many(const bloomfile *f, size_t n, bool *hits);

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

static inline void lookup_digests(const bloomfile *f, const struct bloomfile_key *keys, size_t n,
                                  uint64_t *digests)
{
    for (size_t start = 0; start < n; start += LOOKUP_GROUP) {
        const size_t end = n - start < LOOKUP_GROUP ? n : start + LOOKUP_GROUP;
        lookup_request_keys(keys + end, n - end < LOOKUP_GROUP ? n - end : LOOKUP_GROUP);
        for (size_t i = start; i < end; i++)
            digests[i] = hash_key(f->header.seed, keys[i].data, keys[i].size);
        f->kernel->expect(&f->view, digests + start, end - start);
    }
}

#endif
