/* SPDX-License-Identifier: MIT
 * New files from the bodies of others, folded and combined piece by piece (doc/format/operations.md
 * 1 to 3). */
#ifndef BLOOMFILE_COMBINE_COMBINE_H
#define BLOOMFILE_COMBINE_COMBINE_H

#include <bloomfile_combine.h>

#include "image/body.h"
#include "image/new_image.h"
#include "live/handle.h"

/* ---- A live copy of a live image, whatever state that is in. */

/* As bloomfile_rescue() says. series: 0, or the identity of the one that the copy is a layer of;
 * succeeded: one that has a successor. */
int rescue(struct destination to, const bloomfile_filter *f, uint64_t series, bool succeeded);

/* ---- A filter that a new file is made from. Its body is read once, in order, into the
 * caller's buffer, where it is checked and used: the file may change at any moment. */

#define SOURCE_STRETCH ((size_t)256 << 10) /* bytes read at once: whole pages, in cache */

/* The bits of provenance that are known; others are neither compared nor copied. */
#define SOURCE_PROVENANCE                                                                          \
    (BLOOMFILE_PROVENANCE_INTERSECTION | BLOOMFILE_PROVENANCE_UNION |                              \
     BLOOMFILE_PROVENANCE_PROJECTION)

struct source {
    const bloomfile_filter *f;
    struct body_check check; /* of a sealed one */
    uint64_t at;             /* bytes read */
    bool stained;            /* a bit beyond m was set, in the last page of a live one */
    bool counted;            /* a live one, and it has had the ones that its record tells */
    bool counted_all;        /* and no others, when it began */
    struct record recorded;
    struct kernel_tally tally; /* of a live one, as it was read */
};

/* Notes the file that the result may replace: that of bloomfile_replace_only() if a source has one,
 * otherwise the file that is at the destination now, if any.
 * BLOOMFILE_EREPLACED if a source was opened by a path that leads there and had another file then:
 * the result would lack the keys of the new one. */
int source_destination(struct destination *to, const bloomfile_filter *const *sources,
                       size_t count);

/* Describes a file with the same keys and size: the static part, and the record's state, n and
 * flags. If the source's record cannot be read, that is an error and they are as at its opening. */
int source_describe(const bloomfile_filter *f, struct header *h);

/* Starts reading. 0, or in a child of fork an error of opening the file again; source_release() is
 * due in any case. */
int source_start(struct source *s, const bloomfile_filter *f);

/* How many bytes to read next, of `size` in all. */
size_t source_next(const struct source *s, uint64_t size);

/* Reads the next `size` bytes of the body, at most SOURCE_STRETCH, and all of their last page. `to`
 * has room for whole pages; all stretches but the last one are whole pages. */
void source_stretch(struct source *s, uint8_t *to, size_t size);

/* The source's sticky error, or 0: whether it is already known to be unreliable. */
int source_status(const struct source *s);

/* Once all bytes that m uses are read: whether they were good all the time, and those of a live
 * one have the bits that its writers have set, as far as that is known. BLOOMFILE_EPAGE, _EBODY,
 * _ECHANGED, _EPOISONED, or an error of msync. */
int source_verdict(struct source *s);

void source_release(struct source *s);

/* ---- The new filter. */

struct combine_part {
    struct source source;
    uint64_t factor; /* by which it is folded */
    uint64_t ones;   /* of an intersection's part, once it was folded */
};

struct combination {
    struct header h; /* of the result */
    struct combine_part *parts;
    size_t count; /* 1: a copy */
    bool intersect;
    bool keys_told; /* the caller has set n, whatever the sources do meanwhile */
    /* May change n and flags, or refuse, when the body and h.record's counts are known. */
    int (*settle)(struct combination *c, const struct kernel_tally *tally);
    double max_fpr; /* for `settle` */
};

/* A `settle`: where writers of a live source have not committed their counts, an estimate is
 * closer. */
int combine_estimate(struct combination *c, const struct kernel_tally *tally);

/* Makes a sealed copy of one image, which source_describe() has described in *h. */
int combine_copy(struct header *h, const bloomfile_filter *f, struct destination to);

/* Whether digests mean the same to both. 0, or a BLOOMFILE_EDIFFERENT*. */
int combine_compatible(const struct header *x, const struct header *y);

/* Adds a part: starts reading its source. 0, or an error of source_start(). */
int combine_add(struct combination *c, const bloomfile_filter *f, uint64_t factor);

/* Makes the result. 0, ENOMEM, an error of writing it, or the verdict on a damaged source. */
int combine_make(struct combination *c, struct destination to);

/* Releases the sources; due in any case. */
void combine_release(struct combination *c);

#endif
