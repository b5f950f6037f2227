/* SPDX-License-Identifier: MIT
 * Operations on a handle that has layers, for the public functions. */
#ifndef BLOOMFILE_SERIES_H
#define BLOOMFILE_SERIES_H

#include "image/new_image.h"
#include "live/adding.h"

/* Each takes the handle of the first layer and makes it that of the series, or closes it and sets
 * it to NULL. */
int series_open_live(bloomfile **out, const char *path, unsigned flags);
int series_open_sealed(bloomfile **out, int fd, uint64_t offset, unsigned flags);
int series_open_memory(bloomfile **out, const void *image, size_t size, unsigned flags);

/* A new live series with its first layer; path NULL: in memory. `p` is checked. */
int series_create(bloomfile **out, const char *path, const struct bloomfile_params *p,
                  unsigned flags);

/* Whether a sealed layer's header may be that of the layer behind another one. */
bool series_is_next(const struct header *before, const struct header *h);

void series_close(bloomfile *f);

bool series_contains(const bloomfile *f, uint64_t digest);
size_t series_contains_many(const bloomfile *f, const uint64_t *digests, size_t n, bool *hits);

/* 0, or the error that adding would return. */
int series_addable(bloomfile *f);

/* As adding(). */
int series_add(bloomfile *f, const uint64_t *digests, size_t n, bool *was_new,
               struct adding_done *done);

int series_sync(bloomfile *f);
int series_finish(bloomfile *f);
int series_status(const bloomfile *f);
bool series_is_stale(const bloomfile *f);

/* A sealed copy of all layers; a live copy, whatever state they are in. */
int series_copy(const bloomfile *f, struct destination to);
int series_rescue(const bloomfile *f, const char *path, unsigned flags);

#endif
