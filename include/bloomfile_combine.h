/* SPDX-License-Identifier: MIT
 *
 * bloomfile: folding, merging, projecting and assembling
 *
 * A filter folds by every divisor of its number of blocks (classic: bits, counting: counters): so
 * many adjacent ones become one. The result is, byte for byte, the body that the same keys make at
 * that size, a counter being at most 15; k stays. Filters of different sizes merge at the greatest
 * size that all of them fold to.
 *
 * Sources are verified first, those that are live are synced, and all are left as they are. The
 * result is sealed. It may replace a source that is still the file that was opened
 * (bloomfile_copy_sealed). Memory needed: 0.1% of the result for checksums, plus 256 KiB per live
 * source.
 */
#ifndef BLOOMFILE_PUBLIC_COMBINE_H
#define BLOOMFILE_PUBLIC_COMBINE_H

#include <bloomfile.h>

#ifdef __cplusplus
extern "C" {
#endif

/* bloomfile_info.provenance: what the filter was made by, where that changes what its numbers
 * mean. */
#define BLOOMFILE_PROVENANCE_INTERSECTION 1u /* bits of filters ANDed: the rate is an estimate */
#define BLOOMFILE_PROVENANCE_UNION        2u /* bits of filters ORed */
#define BLOOMFILE_PROVENANCE_PROJECTION   4u /* a counting filter's nonzero counters */

/* The result of folding by a factor. */
struct bloomfile_fold_choice {
    uint64_t factor;      /* 1: as it is */
    uint64_t bits;        /* m afterwards */
    uint64_t image_size;  /* bytes of the file */
    uint64_t ones;        /* one bits, or counters above 0 */
    double fpr;           /* the real false-positive rate of those bits, as in bloomfile_measure */
    double fpr_more;      /* the rate to expect when `more` further keys have been added */
    uint64_t reserved[2]; /* 0 */
};

/* Computes what folding by each possible factor would make, from the bits, in one pass over the
 * body: all factors in ascending order, the first *count of them in choices[] (which may be NULL).
 * Sets *count to how many there are; with choices NULL that is all.
 * Errors: BLOOMFILE_EISRIBBON, _EISSERIES, _EISSLICE; those that bloomfile_copy_sealed() returns
 * for the source; ENOMEM. */
BLOOMFILE_API int bloomfile_fold_plan(const bloomfile_filter *src, uint64_t more,
                                      struct bloomfile_fold_choice *choices, size_t *count);

/* Writes the filter folded by `factor`.
 *   metadata  what the result gets in place of the source's; NULL keeps all.
 * Errors: BLOOMFILE_EISRIBBON for the layout ribbon, unless factor is 1, which copies;
 * BLOOMFILE_EFACTOR; those of bloomfile_copy_sealed(). */
BLOOMFILE_API int bloomfile_fold(struct bloomfile_destination *to, const bloomfile_filter *src,
                                 uint64_t factor, const struct bloomfile_metadata *metadata);

enum bloomfile_merge_op {
    BLOOMFILE_MERGE_UNION = 1,        /* has the keys of all sources; counters are added */
    BLOOMFILE_MERGE_INTERSECTION = 2, /* has the keys that all have, and more false positives than a
                                   filter built of these; not of counting filters */
};

struct bloomfile_merge_params {
    size_t struct_size;
    uint32_t op;       /* enum bloomfile_merge_op; 0: BLOOMFILE_MERGE_UNION */
    uint32_t reserved; /* 0 */
    double max_fpr;    /* union: refuse a result whose real rate is above this, by more than chance
                          (3 standard errors); 0: the greatest that the sources record; 1: never */
    uint64_t keys;     /* distinct keys of the result, if known; 0: see below */
    const struct bloomfile_metadata *metadata; /* of the result, which keeps none of the sources';
                                                  NULL: none */
};
#define BLOOMFILE_MERGE_PARAMS_INIT BLOOMFILE_INIT_(struct bloomfile_merge_params)

/* Merges `count` filters (at least 1); params may be NULL for all defaults. The number of keys of a
 * union in which at most one source has any is that one's; otherwise, unless params->keys tells, it
 * is estimated from the bits and marked so. Errors: those of bloomfile_compatible();
 * BLOOMFILE_EISRIBBON; _EOVERRATE; _EISCOUNTING; BLOOMFILE_EVALUE;
 * those of bloomfile_copy_sealed(), and bloomfile_check() tells which source is
 * damaged. */
BLOOMFILE_API int bloomfile_merge(struct bloomfile_destination *to,
                                  const bloomfile_filter *const *srcs, size_t count,
                                  const struct bloomfile_merge_params *params);

/* Slices. In the layout blocked a contiguous range of digests fills a contiguous range of blocks.
 * This lets several machines build one filter. The builder of slice i of `slices` has
 * bloomfile_params.slice and .slices set. Give it the digests for which bloomfile_slice_of() is i;
 * or give every builder all keys, and each leaves out those of other slices. A slice records how
 * many keys it was given, how many it left out, and the sum of their digests (bloomfile_info). So
 * the same keys, repeated differently, make a different slice but the same whole filter. A slice is
 * a file of its own and may be served alone: it answers "maybe" for every digest outside its range.
 * It can be copied, verified and patched. Operations that need a whole filter return
 * BLOOMFILE_EISSLICE.
 *
 * bloomfile_join() puts the slices together: byte for byte the filter that one build of all keys
 * makes.
 *
 *   slices   all slices of one filter, `count` of them (at least 1), in any order
 *   metadata what the result gets in place of the label and the tag of the slices; NULL keeps
 *            them. The watermark of the result is this one's, or zero
 *   flags    BLOOMFILE_JOIN_ACCEPT_INCOMPLETE joins slices even if keys may be missing, see below;
 *            or 0
 *
 * Errors: BLOOMFILE_EINCOMPLETE if a slice is missing, is given twice, or belongs to another
 * filter. Also if a slice left out keys and the slices were not all given the same number of keys
 * with the same sum of digests: no slice may then have those keys. BLOOMFILE_EVALUE (count),
 * _EFLAGS. Other errors as bloomfile_copy_sealed(); bloomfile_check() shows which slice is
 * damaged.
 */
BLOOMFILE_API int bloomfile_join(struct bloomfile_destination *to,
                                 const bloomfile_filter *const *slices, size_t count,
                                 const struct bloomfile_metadata *metadata, unsigned flags);

/* For bloomfile_join() and bloomfile_join_headers(): join slices that left out keys which may be in
 * none. */
#define BLOOMFILE_JOIN_ACCEPT_INCOMPLETE 0x200u

/* 0 if the two can be merged, whatever their sizes; otherwise in what they differ, the first of
 * BLOOMFILE_EDIFFERENTLAYOUT, _EDIFFERENTHASH, _EDIFFERENTHASHCOUNT, _EDIFFERENTSEED,
 * _EKEYKIND (two different known kinds of keys, or lower-case text and any other kind),
 * _EFEATURE (a kind that this version does not know, and another one); BLOOMFILE_EISSERIES if one
 * is a series, _EISSLICE if one is a slice; BLOOMFILE_EISRIBBON if they differ in none of these,
 * but are of the layout ribbon. */
BLOOMFILE_API int bloomfile_compatible(const bloomfile_filter *a, const bloomfile_filter *b);

/* Writes a counting filter as a classic one a quarter the size: a bit is set where a counter is
 * above 0. It answers exactly as a classic filter with the same keys.
 *   metadata  what the result gets in place of the source's; NULL keeps all.
 * Errors as bloomfile_copy_sealed(); BLOOMFILE_ENOTCOUNTING. */
BLOOMFILE_API int bloomfile_project(struct bloomfile_destination *to, const bloomfile_filter *f,
                                    const struct bloomfile_metadata *metadata);

#ifdef __cplusplus
}
#endif

#endif
