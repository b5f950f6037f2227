/* SPDX-License-Identifier: MIT
 *
 * bloomfile: filters without a file
 *
 * For engines that keep a filter in a few bytes of their own: one for each data block of 20 to 40
 * keys, say, where a header would be larger than the filter. A view is a shape (layout, m, k); the
 * bytes are the caller's, at any alignment, and are passed to each call, so one view serves any
 * number of bodies of its shape. Digests are made by bloomfile_hash(). Only plain loads and stores:
 * many threads may look up, while nobody adds.
 *
 *     struct bloomfile_view view;
 *     struct bloomfile_size shape = BLOOMFILE_SIZE_INIT;
 *     shape.keys = n;
 *     int error = bloomfile_view_for(&view, &shape);
 *     ...
 *     uint8_t *blob = calloc(1, view.size + BLOOMFILE_TRAILER_SIZE);
 *     bloomfile_view_add_digests(&view, blob, digests, n);
 *     bloomfile_view_write_trailer(&view, seed, blob); // self-describing now
 *     ...
 *     struct bloomfile_view found;
 *     bloomfile_view_open(&found, seed, blob, size);     // or "maybe" to all
 *     bloomfile_digest digest = bloomfile_hash(seed, key, length);
 *     if (bloomfile_view_contains_digest(&found, blob, digest))
 *         read_the_data_block();
 *
 * A body alone says nothing of its shape and has no checksum: then both are the caller's business.
 * The compact form, a body and a trailer of 8 bytes, has both (doc/format/compact.md).
 */
#ifndef BLOOMFILE_PUBLIC_VIEW_H
#define BLOOMFILE_PUBLIC_VIEW_H

#include <bloomfile_inspect.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Made by the functions below. It may be copied, also to memory that processes share, and needs no
 * release. All zero, it answers "maybe" to everything. 64 bytes, of which later versions may use
 * the rest. */
struct bloomfile_view {
    size_t size;       /* bytes of the body: (m + 7) / 8, counting (m + 1) / 2 */
    uint64_t words[7]; /* the library's own */
};

/* Makes a shape.
 *   size  in: `keys` and `fpr`, to find the fewest bits that keep this rate; 0 is 0.01. Or `bits`
 *         and `hashes`, which are then used. Out: `layout`, `bits` and `hashes` of the view;
 *         unchanged after an error.
 *         layout  0: classic with the exact m, while the body is smaller than 1 KiB; else blocked.
 *                 There whole blocks take up to three times the bits, and save 2 ns of a lookup.
 *
 * Finding the bits takes as long as bloomfile_size_for(). A program that makes many filters of a
 * few sizes keeps `size`, or bits a key and `hashes`: a shape with both given takes nanoseconds.
 * The rates of filters for 20 to 1600 keys are those of bloomfile_size_for() (bench/README.md).
 * After an error the view answers "maybe" to everything. Returns 0 or one of
 *   BLOOMFILE_ESTRUCTSIZE   no version has that struct_size
 *   BLOOMFILE_EVALUE        a member is out of range, or missing; bloomfile_invalid() names it
 *   BLOOMFILE_EISRIBBON     this layout has no views
 *   BLOOMFILE_EUNREACHABLE  no size keeps the rate
 *   BLOOMFILE_ETOOBIG       too big for memory */
BLOOMFILE_API int bloomfile_view_for(struct bloomfile_view *out, struct bloomfile_size *size);

/* Adds n digests to a body of view->size bytes, which was all zeros before the first; it is the
 * caller's alone meanwhile. Counting: every add counts, of equal digests too. */
BLOOMFILE_API void bloomfile_view_add_digests(const struct bloomfile_view *view, void *body,
                                              const bloomfile_digest *digests, size_t n);

/* false: the key of this digest was certainly not added. true: it may have been. */
BLOOMFILE_API bool bloomfile_view_contains_digest(const struct bloomfile_view *view,
                                                  const void *body, bloomfile_digest digest);

/* n digests at once; hits[i] is set for each, hits may be NULL. Returns the number of hits. */
BLOOMFILE_API size_t bloomfile_view_contains_digests(const struct bloomfile_view *view,
                                                     const void *body,
                                                     const bloomfile_digest *digests, size_t n,
                                                     bool *hits);

#define BLOOMFILE_TRAILER_SIZE 8u

/* Completes the compact form: writes the trailer into the 8 bytes behind the body. `seed` is that
 * of the digests added. */
BLOOMFILE_API void bloomfile_view_write_trailer(const struct bloomfile_view *view, uint64_t seed,
                                                void *blob);

/* Takes the shape from a compact form of `size` bytes, whose body is then used where it lies:
 * `blob` is the body in the calls above. The checksum of all of it is verified, and that it was
 * made with this seed by a library that hashes as this one does: about 20 ns for 50 bytes, 75 ns
 * for 1 KB. Errors: BLOOMFILE_ENOTCOMPACT (damaged, cut short, of another seed, or no such thing at
 * all); BLOOMFILE_EVERSION, _ELAYOUT, _EHASH, _EHASHCOUNT, _EBITS (of a writer that knows more than
 * this one); BLOOMFILE_ETOOBIG. *out then answers "maybe" to everything, so a caller who reports
 * nothing may ignore the error. */
BLOOMFILE_API int bloomfile_view_open(struct bloomfile_view *out, uint64_t seed, const void *blob,
                                      size_t size);

/* The same without the checksum, in a few nanoseconds, for an engine that has verified the block
 * in which the filter lies and knows its seed. Damage, or digests of another seed, are a silent
 * "no" here, so nothing less than such a checksum will do. Eight zero bytes are refused all the
 * same. Errors as bloomfile_view_open(). */
BLOOMFILE_API int bloomfile_view_open_trusted(struct bloomfile_view *out, const void *blob,
                                              size_t size);

#ifdef __cplusplus
}
#endif

#endif
