/* SPDX-License-Identifier: MIT
 *
 * bloomfile: filters without a file
 *
 * An engine can keep a filter in a few bytes of its own, for example for each data block of 20 to
 * 40 keys, where a header would be larger than the filter. A view is only a shape: layout, m and k.
 * The caller owns the bytes, at any alignment, and passes them to each call, so one view serves any
 * number of bodies of its shape. bloomfile_hash() makes the digests. Lookups and adds use plain
 * loads and stores: many threads may look up in a body while no thread adds to it.
 *
 *     struct bloomfile_view view;
 *     struct bloomfile_size shape = BLOOMFILE_SIZE_INIT;
 *     shape.keys = n;
 *     int error = bloomfile_view_for(&view, &shape);
 *     ...
 *     uint8_t *blob = calloc(1, view.size + BLOOMFILE_TRAILER_SIZE);
 *     bloomfile_view_add_digests(&view, blob, digests, n);
 *     bloomfile_view_write_trailer(&view, seed, blob); // has its shape now
 *     ...
 *     struct bloomfile_view found; // after an error, lookups answer "maybe"
 *     bloomfile_view_open(&found, seed, blob, size);
 *     bloomfile_digest digest = bloomfile_hash(seed, key, length);
 *     if (bloomfile_view_contains_digest(&found, blob, digest))
 *         read_the_data_block();
 *
 * A body alone does not record its shape and has no checksum: the caller must provide both. The
 * compact form, a body and a trailer of 8 bytes, has both (doc/format/compact.md).
 */
#ifndef BLOOMFILE_PUBLIC_VIEW_H
#define BLOOMFILE_PUBLIC_VIEW_H

#include <bloomfile_inspect.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A shape, filled by the functions below. It may be copied, also into memory shared by processes,
 * and is not released. If all its bytes are zero, it has no shape: lookups answer "maybe", and adds
 * do nothing. It has 64 bytes, some of them reserved for later versions. */
struct bloomfile_view {
    size_t size;       /* bytes of the body: (m + 7) / 8, counting (m + 1) / 2 */
    uint64_t words[7]; /* the library's own */
};

/* Chooses the shape for a number of keys and a rate, or takes a given shape.
 *   out   receives the view. After an error it answers "maybe" to everything.
 *   size  in: `keys`, 1 to 2^60, and `fpr`, in (0, 1); 0 is 0.01. The call finds the fewest bits
 *         that keep this rate. `layout` 0 is classic with the exact m while the body is smaller
 *         than 1 KiB, else blocked. In so small a body, whole blocks take up to three times the
 *         bits and save 2 ns of a lookup. Or in: `layout`, `bits` and `hashes`, which are then
 *         used. Out: `layout`, `bits` and `hashes` of the view; unchanged after an error.
 *
 * Finding the bits takes as long as bloomfile_size_for(). A program that makes many filters of a
 * few sizes keeps `size`, or bits a key and `hashes`: a shape with both given takes nanoseconds.
 * The rates of filters for 20 to 1600 keys are those of bloomfile_size_for() (bench/README.md).
 *
 * Returns 0 or one of
 *   BLOOMFILE_ESTRUCTSIZE   no version has that struct_size
 *   BLOOMFILE_EVALUE        a member is out of range, or missing; bloomfile_invalid() names it
 *   BLOOMFILE_EISRIBBON     this layout has no views
 *   BLOOMFILE_EUNREACHABLE  no size keeps the rate
 *   BLOOMFILE_ETOOBIG       too big for memory */
BLOOMFILE_API int bloomfile_view_for(struct bloomfile_view *out, struct bloomfile_size *size);

/* Adds n digests to a body.
 *   view     the shape of the body. If only a later library knows its layout, nothing is added,
 *            and the call cannot report that.
 *   body     view->size bytes, all zero before the first add. No other thread may use it during the
 *            call.
 *   digests  made by bloomfile_hash() with one seed for all keys of the body.
 *   n        number of digests. In the counting layout every add counts, also of equal digests. */
BLOOMFILE_API void bloomfile_view_add_digests(const struct bloomfile_view *view, void *body,
                                              const bloomfile_digest *digests, size_t n);

/* Looks up a digest. Returns false if the key of this digest was certainly not added, and true if
 * it may have been. */
BLOOMFILE_API bool bloomfile_view_contains_digest(const struct bloomfile_view *view,
                                                  const void *body, bloomfile_digest digest);

/* Looks up n digests in one call. Sets hits[i] for each digest; hits may be NULL. Returns the
 * number of hits. */
BLOOMFILE_API size_t bloomfile_view_contains_digests(const struct bloomfile_view *view,
                                                     const void *body,
                                                     const bloomfile_digest *digests, size_t n,
                                                     bool *hits);

#define BLOOMFILE_TRAILER_SIZE 8u

/* Completes the compact form.
 *   seed  the seed of the digests that were added.
 *   blob  the body of view->size bytes, and room for the trailer after it: BLOOMFILE_TRAILER_SIZE
 *         bytes, which the call writes. If the view has no shape, it writes zeros, which opening
 *         refuses. */
BLOOMFILE_API void bloomfile_view_write_trailer(const struct bloomfile_view *view, uint64_t seed,
                                                void *blob);

/* Takes the shape from a compact form, and verifies its checksum. So it also verifies that the form
 * was made with this seed, by a library that hashes as this library does.
 *   out   receives the view. After an error it answers "maybe" to everything, so a caller without
 *         error reporting may ignore the result.
 *   seed  the seed that the caller's digests are made with.
 *   blob  the compact form, at any address. Pass it as the body to the calls above: it is not
 *         copied.
 *   size  in bytes, body and trailer.
 *
 * Takes about 75 ns for 1 KB, 20 ns for 50 bytes. Returns 0 or one of
 *   BLOOMFILE_ENOTCOMPACT  damaged, cut short, made with another seed, or not a compact form
 *   BLOOMFILE_EVERSION     a later version of the compact form
 *   BLOOMFILE_ELAYOUT      a later version wrote it: the layout has no views here
 *   BLOOMFILE_EHASH        a later version wrote it: the hash is unknown here
 *   BLOOMFILE_EHASHCOUNT   a later version wrote it: k is not in 1 to 64
 *   BLOOMFILE_EBITS        a later version wrote it: m is not possible in that layout here
 *   BLOOMFILE_ETOOBIG      too big for memory */
BLOOMFILE_API int bloomfile_view_open(struct bloomfile_view *out, uint64_t seed, const void *blob,
                                      size_t size);

/* Like bloomfile_view_open(), but does not verify the checksum, and takes a few nanoseconds. It is
 * for an engine that has already verified the checksum of the block that contains the filter, and
 * knows the seed. Damage, and digests of another seed, cause a silent "no". Eight zero bytes are
 * refused nevertheless. Errors are those listed at bloomfile_view_open(), except that
 * BLOOMFILE_ENOTCOMPACT does not detect damage or another seed.
 */
BLOOMFILE_API int bloomfile_view_open_trusted(struct bloomfile_view *out, const void *blob,
                                              size_t size);

#ifdef __cplusplus
}
#endif

#endif
