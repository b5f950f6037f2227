/* SPDX-License-Identifier: MIT
 * Inspecting a single image. */
#ifndef BLOOMFILE_HANDLE_INSPECTION_H
#define BLOOMFILE_HANDLE_INSPECTION_H

#include <bloomfile_combine.h>
#include <bloomfile_inspect.h>

#include "live/handle.h"

/* Fills *info from a header and the size of its image. */
ONCE_A_FILE void inspection_info_of(const struct header *h, uint64_t image_size, uint64_t pages,
                                    struct bloomfile_info *info);

/* Describes an error outside the body, and returns it. fault: may be NULL. */
int inspection_blame(struct bloomfile_fault *fault, int error, const char *field, uint64_t offset);

/* As the public functions of these names. */
ONCE_A_FILE void inspection_info(const bloomfile_filter *f, struct bloomfile_info *info);
int inspection_measure(const bloomfile_filter *f, struct bloomfile_measurement *m);
int inspection_verify_sealed(const bloomfile_filter *f, unsigned threads,
                             struct bloomfile_fault *fault);
int inspection_verify_live(const bloomfile_filter *f, unsigned threads,
                           struct bloomfile_fault *fault);

#endif
