/* SPDX-License-Identifier: MIT
 * A live copy of a live image, whatever state that is in. */
#ifndef BLOOMFILE_RESCUE_H
#define BLOOMFILE_RESCUE_H

#include "handle/handle.h"
#include "image/new_image.h"

/* As bloomfile_rescue() says. series: 0, or the identity of the one that the copy is a layer of;
 * succeeded: one that has a successor. */
int rescue(struct destination to, const bloomfile *f, uint64_t series, bool succeeded);

#endif
