/* SPDX-License-Identifier: MIT
 * One filter folded; by 1, a copy. */
#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>
#include <bloomfile_live.h>

#include "combine/combine.h"
#include "image/image.h"

/* Where writers of a live source have not committed their counts, an estimate is closer. */
static int estimate(struct combination *c, const struct kernel_tally *tally)
{
    (void)tally;
    if ((c->h.record.flags & RECORD_N_ESTIMATED) != 0)
        image_estimate_keys(&c->h);
    return 0;
}

static int fold(struct destination to, const bloomfile *src, uint64_t factor)
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
        error = combine_make(&c, to);
    }
    combine_release(&c);
    return error;
}

int bloomfile_fold(const char *dst, const bloomfile *src, uint64_t factor, unsigned flags)
{
    return fold(new_image_to_file(dst, flags), src, factor);
}

int bloomfile_fold_fd(int fd, const bloomfile *src, uint64_t factor, const char *spool)
{
    return fold(new_image_to_fd(fd, spool), src, factor);
}

int bloomfile_fold_memory(void **image, size_t *size, const bloomfile *src, uint64_t factor)
{
    return fold(new_image_to_memory(image, size), src, factor);
}

int bloomfile_seal_to(const char *path, const bloomfile *f, unsigned flags)
{
    return bloomfile_fold(path, f, 1, flags);
}

int bloomfile_seal_to_fd(int fd, const bloomfile *f, const char *spool)
{
    return bloomfile_fold_fd(fd, f, 1, spool);
}

int bloomfile_seal_to_memory(void **image, size_t *size, const bloomfile *f)
{
    return bloomfile_fold_memory(image, size, f, 1);
}
