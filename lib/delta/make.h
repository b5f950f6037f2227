/* SPDX-License-Identifier: MIT
 * Two filters become a patch. */
#ifndef BLOOMFILE_MAKE_H
#define BLOOMFILE_MAKE_H

#include "handle/handle.h"
#include "image/new_image.h"

/* Both are sealed and of the same shape. */
int make_patch(struct destination to, const bloomfile *base, const bloomfile *result,
               unsigned threads);

#endif
