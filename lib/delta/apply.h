/* SPDX-License-Identifier: MIT
 * Application of a patch to a filter. */
#ifndef BLOOMFILE_APPLY_H
#define BLOOMFILE_APPLY_H

#include "delta/input.h"
#include "image/new_image.h"
#include "live/handle.h"

/* `in` is at its start; the base is sealed: one filter, or the layers of a series. */
int apply_patch(struct destination to, bloomfile_filter *const *base, size_t count, bool series,
                struct input *in, unsigned threads);

#endif
