/* SPDX-License-Identifier: MIT
 * New live images: a filter of its own, or a layer. */
#ifndef BLOOMFILE_CREATING_H
#define BLOOMFILE_CREATING_H

#include "live/handle.h"

/* The header for parameters that params_take() has checked. */
int creating_plan(const struct bloomfile_params *given, struct header *h);

/* Completes a header that has the parameters of the filter. */
void creating_describe(struct header *h);

/* Makes the file and opens it for writing. flags: as for bloomfile_create(). `like`: the absolute
 * path of a file in the same folder whose rights the new file gets, or NULL. */
int creating_file(bloomfile_filter **out, const char *path, const char *like, struct header *h,
                  unsigned flags);

/* The same. `before`, unless NULL, is called when the file is complete but has no name yet. */
int creating_after(bloomfile_filter **out, const char *path, const char *like, struct header *h,
                   unsigned flags, int (*before)(const void *), const void *context);

/* The same in memory. */
int creating_memory(bloomfile_filter **out, struct header *h, unsigned flags);

#endif
