/* SPDX-License-Identifier: MIT
 * Making a filter from the bodies of existing filters, folded and combined piece by piece
 * (doc/format/operations.md 1 to 3). */
#ifndef BLOOMFILE_COMBINE_COMBINE_H
#define BLOOMFILE_COMBINE_COMBINE_H

#include <bloomfile_combine.h>

#include "image/body.h"
#include "image/new_image.h"
#include "live/handle.h"

/* ---- a live copy of a live image in any state */

/* bloomfile_rescue() for a single file. series: the copy's series identity, or 0. succeeded:
 * whether the copy is a layer that has a successor. */
int rescue(struct destination to, const bloomfile_filter *f, uint64_t series, bool succeeded);

/* ---- sources: filters from which a new file is made
 *
 * The body is read once, in order, into the caller's buffer. It is checked and used there, because
 * the file may change at any time. */

#define SOURCE_STRETCH ((size_t)256 << 10) /* bytes of a stretch: whole pages, in the cache */

/* The known bits of provenance. Unknown bits are not compared or copied. */
#define SOURCE_PROVENANCE                                                                          \
    (BLOOMFILE_PROVENANCE_INTERSECTION | BLOOMFILE_PROVENANCE_UNION |                              \
     BLOOMFILE_PROVENANCE_PROJECTION)

struct source {
    const bloomfile_filter *f;
    struct body_check check; /* for a sealed source */
    uint64_t at;             /* bytes read */
    /* For a live source: */
    bool stained;     /* its last page has a set bit beyond m */
    bool counted;     /* at the start, `recorded` was a lower bound of its set bits... */
    bool counted_all; /* ...and their exact number */
    struct record recorded;
    struct kernel_tally tally; /* counts of the bytes read */
};

/* Records the only file that the result may replace: the file of bloomfile_replace_only() if a
 * source has one, or that of bloomfile_thread_replaces_only(), or else the file at the destination
 * now, if any. Then calls source_check_path() for each source. The handle of a series has no path,
 * so its caller checks the layers. */
int source_destination(struct destination *to, const bloomfile_filter *const *sources,
                       size_t count);

/* Returns BLOOMFILE_EREPLACED if the path of a source leads to the file that the result may
 * replace, but the source has an older file open: the result would lack the keys of the new file.
 * Also if the source is open for writing and that file is its own: keys added later would be lost.
 * path: NULL for a source without a path. */
int source_check_path(const struct destination *to, const bloomfile_filter *f, const char *path);

/* Makes the header of a file with the same keys and size: the static part, and state, n and flags
 * of the record. If the record cannot be read, returns an error, and uses the record from the
 * opening.
 */
int source_describe(const bloomfile_filter *f, struct header *h);

/* Starts reading. Returns 0, BLOOMFILE_ECHANGED, or in a child of fork() an error of opening the
 * file again. Call source_release() in each case. */
int source_start(struct source *s, const bloomfile_filter *f);

/* The number of bytes to read next, if `size` bytes are to be read in total. */
size_t source_next(const struct source *s, uint64_t size);

/* Reads the next `size` bytes of the body, at most SOURCE_STRETCH, and the rest of their last page,
 * so `to` must have room for whole pages. Every stretch but the last must be whole pages. */
void source_stretch(struct source *s, uint8_t *to, size_t size);

/* The sticky error of the source, or 0. After an error its bytes are unreliable. */
int source_status(const struct source *s);

/* Checks a source after all bytes that m uses were read: that they were good throughout and, as far
 * as counts are known, that a live source has all bits that its writers set. Returns 0,
 * BLOOMFILE_EPAGE, _EBODY, _ECHANGED, _EPOISONED, or an error of msync. */
int source_verdict(struct source *s);

void source_release(struct source *s);

/* ---- the new filter */

struct combine_part {
    struct source source;
    uint64_t factor; /* the factor by which the source is folded */
    uint64_t ones;   /* for an intersection: set bits of the folded source */
};

struct combination {
    struct header h; /* header of the result */
    struct combine_part *parts;
    size_t count; /* number of parts; 1 for a copy */
    bool intersect;
    bool keys_told; /* the caller gave n; keys added during the call do not change it */
    /* Called once the body and the counts of h.record are final. May change n and flags, or
     * fail. */
    int (*settle)(struct combination *c, const struct kernel_tally *tally);
    double max_fpr; /* for `settle` */
};

/* A `settle` function: estimates n if writers of a live source have not committed their counts. */
int combine_estimate(struct combination *c, const struct kernel_tally *tally);

/* Makes a sealed copy of one image. *h must be the result of source_describe(). */
int combine_copy(struct header *h, const bloomfile_filter *f, struct destination to);

/* Checks that a digest has the same positions in both filters. Returns 0 or a
 * BLOOMFILE_EDIFFERENT*. */
int combine_compatible(const struct header *x, const struct header *y);

/* Adds a part and starts reading its source. Returns 0, or an error of source_start(). */
int combine_add(struct combination *c, const bloomfile_filter *f, uint64_t factor);

/* Makes the result. Returns 0, ENOMEM, an error of writing, or the source_verdict() of a source. */
int combine_make(struct combination *c, struct destination to);

/* Releases the sources. Must be called after success and failure. */
void combine_release(struct combination *c);

#endif
