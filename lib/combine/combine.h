/* SPDX-License-Identifier: MIT
 * New files from the bodies of others, folded and combined piece by piece (format-spec.md, 14.1 to
 * 14.3). */
#ifndef BLOOMFILE_COMBINE_COMBINE_H
#define BLOOMFILE_COMBINE_COMBINE_H

#include "combine/source.h"
#include "image/new_image.h"
#include "live/handle.h"

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
int combine_copy(struct header *h, const bloomfile *f, struct destination to);

/* Whether digests mean the same to both. 0, or a BLOOMFILE_EDIFFERENT*. */
int combine_compatible(const struct header *x, const struct header *y);

/* Adds a part: starts reading its source. 0, or an error of source_start(). */
int combine_add(struct combination *c, const bloomfile *f, uint64_t factor);

/* Makes the result. 0, ENOMEM, an error of writing it, or the verdict on a damaged source. */
int combine_make(struct combination *c, struct destination to);

/* Releases the sources; due in any case. */
void combine_release(struct combination *c);

/* ---- A live copy of a live image, whatever state that is in. */

/* As bloomfile_rescue() says. series: 0, or the identity of the one that the copy is a layer of;
 * succeeded: one that has a successor. */
int rescue(struct destination to, const bloomfile *f, uint64_t series, bool succeeded);

#endif
