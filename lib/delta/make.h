/* SPDX-License-Identifier: MIT
 * Creation of a patch from two filters. */
#ifndef BLOOMFILE_MAKE_H
#define BLOOMFILE_MAKE_H

#include "image/new_image.h"
#include "live/handle.h"

/* One filter, or the layers of a series; all are sealed, and in pairs of the same shape. */
int make_patch(struct destination to, bloomfile_filter *const *base,
               bloomfile_filter *const *result, size_t count, bool series, unsigned threads);

#endif
