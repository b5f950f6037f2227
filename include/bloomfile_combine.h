/* SPDX-License-Identifier: MIT
 *
 * bloomfile: folding, merging and projecting
 *
 * A filter folds by every divisor d of its number of blocks (classic: bits, counting: counters): d
 * adjacent blocks become one block. The result is byte for byte the body that the same keys would
 * have at that size and the same k (counters stop at 15), because mulhi(g, N / d) = floor(mulhi(g,
 * N) / d) (doc/format/operations.md 1). Filters of different sizes merge at the greatest size that
 * all of them fold to.
 *
 * Sources are verified first, live sources are synced, and no source is changed. The result is
 * sealed. It may replace a source that is still the file that was opened (bloomfile_copy_sealed).
 * Memory needed: 0.1% of the result for checksums, plus 256 KiB per live source.
 *
 * Common errors. Functions that write a filter return an errno (such as those of msync and
 * fdatasync), or an error of the destination (bloomfile_io.h). If a source is damaged:
 * BLOOMFILE_EPAGE, _EBODY, _ECHANGED; if it is live, also BLOOMFILE_EPOISONED, _ERECORD, and
 * _EUNCLEAN (a writer was killed during a sync). bloomfile_check() shows which source is damaged.
 * If the parameters are wrong: BLOOMFILE_ESTRUCTSIZE, and BLOOMFILE_EVALUE, for example for the
 * label. The result can be BLOOMFILE_ETOOBIG, or BLOOMFILE_EREPLACED as for
 * bloomfile_copy_sealed(). In a child of fork a live source is opened again, which can return any
 * error of bloomfile_open().
 */
#ifndef BLOOMFILE_PUBLIC_COMBINE_H
#define BLOOMFILE_PUBLIC_COMBINE_H

#include <bloomfile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* bloomfile_info.provenance: how the filter was made, if that changes what its numbers mean. */
#define BLOOMFILE_PROVENANCE_INTERSECTION 1u /* bits of filters ANDed: the rate is an estimate */
#define BLOOMFILE_PROVENANCE_UNION        2u /* bits of filters ORed */
#define BLOOMFILE_PROVENANCE_PROJECTION   4u /* a counting filter's nonzero counters */

/* The result of folding by a factor. */
struct bloomfile_fold_choice {
    uint64_t factor;      /* 1: unchanged */
    uint64_t bits;        /* m afterwards */
    uint64_t image_size;  /* bytes in file form; an embedded image is smaller */
    uint64_t ones;        /* one bits, or counters above 0 */
    double fpr;           /* the real false-positive rate of those bits, as in bloomfile_measure */
    double fpr_more;      /* the expected rate after adding `more` keys */
    uint64_t reserved[2]; /* 0 */
};

/* Computes the result of folding by each possible factor, from the bits, in one pass over the body.
 *   more     number of keys, for fpr_more.
 *   choices  receives the first *count factors, in ascending order. NULL: only *count is set.
 *   count    in: the room in choices[]. Out: the number of possible factors; unchanged after an
 *            error.
 * Errors: BLOOMFILE_EISRIBBON, _EISSERIES, _EISSLICE; ENOMEM; if `choices` is not NULL, the common
 * errors of a source, listed at the top. */
BLOOMFILE_API int bloomfile_fold_plan(const bloomfile_filter *src, uint64_t more,
                                      struct bloomfile_fold_choice *choices, size_t *count);

/* Writes the filter folded by `factor`.
 *   factor    a divisor, as bloomfile_fold_plan() returns them. 1 copies the filter.
 *   metadata  replaces the source's metadata; NULL keeps all of it.
 * Errors: BLOOMFILE_EFACTOR (0, or not a divisor); _EISRIBBON for the ribbon layout, unless factor
 * is 1; _EISSERIES; _EISSLICE; the common errors, listed at the top. */
BLOOMFILE_API int bloomfile_fold(struct bloomfile_destination *to, const bloomfile_filter *src,
                                 uint64_t factor, const struct bloomfile_metadata *metadata);

enum bloomfile_merge_op {
    BLOOMFILE_MERGE_UNION = 1,        /* has the keys of all sources; counters are added */
    BLOOMFILE_MERGE_INTERSECTION = 2, /* has the keys common to all, and more false positives than a
                                         filter built from these keys; not for counting filters */
};

struct bloomfile_merge_params {
    size_t struct_size;
    uint32_t op;       /* enum bloomfile_merge_op; 0: BLOOMFILE_MERGE_UNION */
    uint32_t reserved; /* 0 */
    double max_fpr; /* union: refuse a result whose actual rate exceeds this by more than 3 standard
                       errors; 0: the greatest rate recorded in the sources; 1: accept any rate */
    uint64_t keys;  /* distinct keys of the result, if known, up to 2^60; 0: see below */
    const struct bloomfile_metadata
        *metadata; /* of the result; NULL: none. The sources' is not used */
};
#define BLOOMFILE_MERGE_PARAMS_INIT BLOOMFILE_INIT_(struct bloomfile_merge_params)

/* Merges filters. If at most one source of a union has keys, the result has its number of keys.
 * Otherwise the number is params->keys or, if that is 0, an estimate from the bits, marked as an
 * estimate.
 *   srcs    `count` filters, at least 1.
 *   params  NULL: all defaults.
 * Errors: BLOOMFILE_EDIFFERENTLAYOUT, _EDIFFERENTHASH, _EDIFFERENTHASHCOUNT, _EDIFFERENTSEED,
 * _EKEYKIND, _EFEATURE, _EISSERIES, _EISSLICE, _EISRIBBON, under the conditions of
 * bloomfile_check_merge() for any two sources; _EISRIBBON also for a single source; _EISCOUNTING
 * for an intersection; _EOVERRATE (max_fpr); _EVALUE (count, or a member); the common errors,
 * listed at the top. */
BLOOMFILE_API int bloomfile_merge(struct bloomfile_destination *to,
                                  const bloomfile_filter *const *srcs, size_t count,
                                  const struct bloomfile_merge_params *params);

/* Slices. In the blocked layout a contiguous range of digests fills a contiguous range of blocks.
 * This lets several machines build one filter. The builder of slice i of `slices` has
 * bloomfile_params.slice and .slices set. Give it the digests for which bloomfile_slice_of() is i;
 * or give every builder all keys, and each leaves out those of other slices. A slice records how
 * many keys it was given, how many it left out, and the sum of their digests (bloomfile_info). So a
 * slice depends on how often keys were repeated; the whole filter does not. A slice is a complete
 * file and can be used alone: it answers "maybe" for every digest outside its range. It can be
 * copied, verified and patched. Operations that need a whole filter return BLOOMFILE_EISSLICE.
 *
 * bloomfile_join() joins the slices into the same filter, byte for byte, that one build of all keys
 * makes.
 *
 *   slices    all slices of one filter, `count` of them (at least 1), in any order
 *   metadata  replaces the label and the tag of the slices; NULL keeps them. The watermark of the
 *             result is that of `metadata`, or zero
 *   flags     BLOOMFILE_JOIN_ACCEPT_INCOMPLETE joins slices even if keys may be missing, see below;
 *             or 0
 * Errors: BLOOMFILE_EINCOMPLETE if a filter is not a slice, or a slice is missing, is given twice,
 * or belongs to another filter. Also if a slice left out keys, and the slices were not all given
 * the same number of keys with the same sum of digests: the keys left out may then be in no slice.
 * BLOOMFILE_EVALUE (count), _EFLAGS, and the common errors, listed at the top. */
BLOOMFILE_API int bloomfile_join(struct bloomfile_destination *to,
                                 const bloomfile_filter *const *slices, size_t count,
                                 const struct bloomfile_metadata *metadata, unsigned flags);

/* For bloomfile_join() and bloomfile_join_headers(): join slices even if the keys that they left
 * out may be missing from all of them. */
#define BLOOMFILE_JOIN_ACCEPT_INCOMPLETE 0x200u

/* Returns 0 if the two filters can be merged, whatever their sizes. Otherwise returns
 * BLOOMFILE_EISSERIES (a series, or a layer) or _EISSLICE; else the first difference among
 * _EDIFFERENTLAYOUT, _EDIFFERENTHASH, _EDIFFERENTHASHCOUNT, _EDIFFERENTSEED, _EKEYKIND (two
 * different known kinds of keys, or lower-case text and any other kind), _EFEATURE (a kind that
 * this version does not know, and another kind); else _EISRIBBON (both are of the ribbon layout).
 */
BLOOMFILE_API int bloomfile_check_merge(const bloomfile_filter *a, const bloomfile_filter *b);

/* Converts a counting filter to a classic filter of a quarter of the size: a bit is set where a
 * counter is above 0. The result gives the same answers as a classic filter of the same keys.
 *   metadata  replaces the source's metadata; NULL keeps all of it.
 * Errors: BLOOMFILE_ENOTCOUNTING; the common errors, listed at the top. */
BLOOMFILE_API int bloomfile_project(struct bloomfile_destination *to, const bloomfile_filter *f,
                                    const struct bloomfile_metadata *metadata);

#ifdef __cplusplus
}
#endif

#endif
