/* SPDX-License-Identifier: MIT
 * Lookups in one image. */
#ifndef BLOOMFILE_HANDLE_LOOKUP_H
#define BLOOMFILE_HANDLE_LOOKUP_H

#include "format/hash.h"
#include "live/handle.h"

/* Choose the lookups of a new handle: of one image, or of a series, with its lookups in all layers.
 * named: an application's hash is known. */
void lookup_start_image(bloomfile_filter *f, bool named);
void lookup_start_series(bloomfile_filter *f, const struct doubtful_lookup *in_layers, bool named);

/* The file was sealed in place. */
void lookup_sealed(bloomfile_filter *f);

/* ---- Which function makes the digests that a handle is given. */

/* The lookups of a filter of an application's hash that was opened without its name. */
extern const struct doubtful_lookup lookup_unnamed;

/* Whether the hash function is known: the library's, or an application's that was named when the
 * filter was opened. Otherwise no lookup returns "no", and nothing can be added. */
static inline bool app_hash_is_named(const bloomfile_filter *f)
{
    return f->doubtful != &lookup_unnamed;
}

/* Remembers n lookups of keys whose digests are unknown; hits may be NULL. Returns n: "maybe". */
size_t app_hash_missed(const bloomfile_filter *f, size_t n, bool *hits);

/* Called if the library cannot make a digest that a caller wants. Makes the hash function unknown
 * from then on, so that the caller's digest finds and adds nothing. Returns 0 as the digest. */
uint64_t app_hash_unmade(const bloomfile_filter *f);

/* ---- Batches of keys. */

#define LOOKUP_MANY  4   /* keys; a smaller batch is faster one by one */
#define LOOKUP_CHUNK 128 /* keys that are hashed before the first is looked up, at most */

/* Makes the digests of n keys, at most LOOKUP_CHUNK. Prefetches the lines of their lookups. */
void lookup_digests(const bloomfile_filter *f, const struct bloomfile_key *keys, size_t n,
                    uint64_t *digests);

/* Looks up digests from lookup_digests(). hits may be NULL. Returns the number of hits. */
size_t lookup_ready(const bloomfile_filter *f, const uint64_t *digests, size_t n, bool *hits);

#endif
