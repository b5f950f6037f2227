/* SPDX-License-Identifier: MIT
 *
 * The filter of a table that is being written.
 */
#ifndef FILTER_WRITE_H
#define FILTER_WRITE_H

#include "footer.h"

#include <bloomfile.h>

struct filter_writer {
    struct bloomfile_params params;
    bloomfile_builder *builder; /* NULL: merged */
    int merged;                 /* a file without a name that has the merged filter; -1: none */
};

/* A filter to be built from keys. */
int filter_writer_start(struct filter_writer *w, const struct bloomfile_params *params);

/* The filter is the union of others instead, and keys need not be added. If this fails, as it does
 * if too many bits would be set (BLOOMFILE_ERATEPASSED), it is still to be built. `directory` is
 * where a temporary file goes. */
int filter_writer_merge(struct filter_writer *w, const char *directory,
                        const bloomfile *const *filters, size_t count);

int filter_writer_add(struct filter_writer *w, const void *key, size_t size);

/* As a file of its own, atomically. */
int filter_writer_publish(struct filter_writer *w, const char *path);

/* Appends it to the file `fd` and notes its place. */
int filter_writer_embed(struct filter_writer *w, int fd, struct footer *footer);

void filter_writer_end(struct filter_writer *w);

#endif
