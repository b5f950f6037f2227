/* SPDX-License-Identifier: MIT
 * One filter folded; by 1, a copy. */
#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <bloomfile_live.h>

#include "combine.h"
#include "image.h"

/* Counts that writers of a live source have not committed are estimated, which is closer. */
static int estimate(struct combination *c, const struct kernel_tally *tally)
{
    (void)tally;
    if ((c->h.record.flags & RECORD_N_ESTIMATED) != 0)
        image_estimate_keys(&c->h);
    return 0;
}

int bloomfile_fold(const char *dst, const bloomfile *src, uint64_t factor, unsigned flags)
{
    struct combine_part part;
    struct combination c = { .parts = &part, .settle = src->live != NULL ? estimate : NULL };
    if (factor == 0 || src->view.units % factor != 0)
        return BLOOMFILE_EFACTOR;
    int error = source_describe(src, &c.h);
    if (error == 0)
        error = combine_add(&c, src, factor);
    if (error == 0) {
        c.h.record.state = BLOOMFILE_SEALED;
        c.h.m /= factor;
        image_describe(&c.h);
        error = combine_publish(&c, dst, flags);
    }
    combine_release(&c);
    return error;
}

int bloomfile_seal_to(const char *path, const bloomfile *f, unsigned flags)
{
    return bloomfile_fold(path, f, 1, flags);
}
