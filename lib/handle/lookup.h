/* SPDX-License-Identifier: MIT
 * Lookups in one image. */
#ifndef BLOOMFILE_HANDLE_LOOKUP_H
#define BLOOMFILE_HANDLE_LOOKUP_H

#include "format/hash.h"
#include "live/handle.h"

/* Set the lookup functions of a new handle, of a single image or of a series. named: the caller
 * named the application's hash. */
void lookup_start_image(bloomfile_filter *f, bool named);
void lookup_start_series(bloomfile_filter *f, const struct doubtful_lookup *in_layers, bool named);

/* Sets the lookup functions again after the file was sealed in place. */
void lookup_sealed(bloomfile_filter *f);

/* ---- The hash function of the digests that callers pass. */

/* The lookups of a filter whose hash is an application's own and was not named at opening. */
extern const struct doubtful_lookup lookup_unnamed;

/* Returns whether the hash function is known: the library's, or an application's that was named
 * when the filter was opened. Otherwise no lookup returns "no", and nothing can be added. */
static inline bool app_hash_is_named(const bloomfile_filter *f)
{
    return f->doubtful != &lookup_unnamed;
}

/* Records that n keys could not be hashed, and answers "maybe" for each. hits may be NULL. Returns
 * n. */
size_t app_hash_missed(const bloomfile_filter *f, size_t n, bool *hits);

/* Called when a caller wants a digest that the library cannot compute. Returns 0 as the digest.
 * From then on the handle treats its hash as unknown, so this 0 cannot cause a "no" or an add. */
uint64_t app_hash_unmade(const bloomfile_filter *f);

/* ---- Batches of keys. */

#define LOOKUP_MANY  4   /* keys; smaller batches are looked up one by one, which is faster */
#define LOOKUP_CHUNK 128 /* keys that are hashed before the first is looked up, at most */

/* Makes the digests of n keys, at most LOOKUP_CHUNK. Prefetches the lines of their lookups. */
void lookup_digests(const bloomfile_filter *f, const struct bloomfile_key *keys, size_t n,
                    uint64_t *digests);

/* Looks up digests from lookup_digests(). hits may be NULL. Returns the number of hits. */
size_t lookup_ready(const bloomfile_filter *f, const uint64_t *digests, size_t n, bool *hits);

#endif
