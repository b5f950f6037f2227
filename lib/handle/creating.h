/* SPDX-License-Identifier: MIT
 * Creating live images: single filters, and layers of a series. */
#ifndef BLOOMFILE_CREATING_H
#define BLOOMFILE_CREATING_H

#include "live/handle.h"

/* Makes the header for parameters that params_take() has checked. */
int creating_plan(const struct bloomfile_params *given, struct header *h);

/* Completes a header that has the parameters of the filter. */
void creating_describe(struct header *h);

/* Makes the file of a layer without opening it as a writer, so that a kill before it has its name
 * cannot leave it unclean. `like`: absolute path of a file in the same folder; the new file gets
 * its mode, owner and access control list. */
int creating_layer(const char *path, const char *like, struct header *h, bool replace);

/* Makes the file and opens it for writing. flags: as for bloomfile_create(). */
int creating_file(bloomfile_filter **out, const char *path, struct header *h, unsigned flags);

/* Like creating_file(). Calls before(), unless it is NULL, when the file is complete but has no
 * name yet. */
int creating_after(bloomfile_filter **out, const char *path, struct header *h, unsigned flags,
                   int (*before)(const void *), const void *context);

/* Like creating_file(), but in memory. */
int creating_memory(bloomfile_filter **out, struct header *h, unsigned flags);

#endif
