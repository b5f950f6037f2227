/* SPDX-License-Identifier: MIT
 * Adding to one live image. */
#ifndef BLOOMFILE_ADDING_H
#define BLOOMFILE_ADDING_H

#include "handle/handle.h"

#define ADDING_MOST 1024 /* digests at once: between two checks of the file's state */
#define ADDING_SUCCEEDED                                                                           \
    INT32_MIN /* no error of the interface: nothing was added, by an exact adder,                  \
                 since the layer has a successor */

/* Adds n digests, ADDING_MOST at most, and to *new_keys how many were new. was_new may be NULL. */
int adding(bloomfile *f, const uint64_t *digests, size_t n, bool *was_new, size_t *new_keys);

#endif
