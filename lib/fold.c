/* SPDX-License-Identifier: MIT
 * One filter folded. */
#include <bloomfile_combine.h>

#include "combine/combine.h"

static int fold(struct destination to, const bloomfile *src, uint64_t factor)
{
    struct combine_part part;
    struct combination c = { .parts = &part, .settle = combine_estimate };
    const int refused = header_refuse_portion(&src->header);
    if (refused != 0)
        return refused;
    if (factor != 1 && layout_of(src->header.layout)->solved)
        return BLOOMFILE_ESOLVED;
    if (factor == 0 || src->view.units % factor != 0)
        return BLOOMFILE_EFACTOR;
    int error = source_describe(src, &c.h);
    if (error == 0)
        error = source_destination(&to, &src, 1);
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
