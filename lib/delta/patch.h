/* SPDX-License-Identifier: MIT
 * Making a patch from two filters, and applying a patch to a filter. All filters are sealed: single
 * filters, or the layers of a series. */
#ifndef BLOOMFILE_DELTA_PATCH_H
#define BLOOMFILE_DELTA_PATCH_H

#include "delta/input.h"
#include "image/new_image.h"
#include "live/handle.h"

/* base[i] and result[i] must have the same shape. */
int make_patch(struct destination to, bloomfile_filter *const *base,
               bloomfile_filter *const *result, size_t count, bool series, unsigned threads);

/* `in` must be at its start. */
int apply_patch(struct destination to, bloomfile_filter *const *base, size_t count, bool series,
                struct input *in, unsigned threads);

#endif
