/* SPDX-License-Identifier: MIT
 * New live images: a filter of its own, or a layer. */
#ifndef BLOOMFILE_CREATING_H
#define BLOOMFILE_CREATING_H

#include "live/handle.h"

/* The header for parameters that params_take() has checked. */
int creating_plan(const struct bloomfile_params *given, struct header *h);

/* Completes a header that has the parameters of the filter. */
void creating_describe(struct header *h);

/* Makes the file of a layer, and does not open it: no writer joins before the file has its name, so
 * that a kill cannot leave it unclean. like: the absolute path of a file in the same folder whose
 * rights the new file gets. */
int creating_layer(const char *path, const char *like, struct header *h, bool replace);

/* Makes the file and opens it for writing. flags: as for bloomfile_create(). */
int creating_file(bloomfile_filter **out, const char *path, struct header *h, unsigned flags);

/* The same. `before`, unless NULL, is called when the file is complete but has no name yet. */
int creating_after(bloomfile_filter **out, const char *path, struct header *h, unsigned flags,
                   int (*before)(const void *), const void *context);

/* The same in memory. */
int creating_memory(bloomfile_filter **out, struct header *h, unsigned flags);

#endif
