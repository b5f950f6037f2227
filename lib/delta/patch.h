/* SPDX-License-Identifier: MIT
 * Creation of a patch from two filters, and its application to a filter. All filters are sealed:
 * one filter, or the layers of a series. */
#ifndef BLOOMFILE_DELTA_PATCH_H
#define BLOOMFILE_DELTA_PATCH_H

#include "delta/input.h"
#include "image/new_image.h"
#include "live/handle.h"

/* The images of both are in pairs of the same shape. */
int make_patch(struct destination to, bloomfile_filter *const *base,
               bloomfile_filter *const *result, size_t count, bool series, unsigned threads);

/* `in` is at its start. */
int apply_patch(struct destination to, bloomfile_filter *const *base, size_t count, bool series,
                struct input *in, unsigned threads);

#endif
