/* SPDX-License-Identifier: MIT
 * The operations of the handle of a series, for the public functions. */
#ifndef BLOOMFILE_SERIES_H
#define BLOOMFILE_SERIES_H

#include "handle/opening.h"
#include "image/new_image.h"
#include "live/adding.h"

/* Each takes the handle of the first layer in *out, and replaces it by the handle of the series. On
 * failure closes the first layer and sets *out to NULL. */
int series_open_live(bloomfile_filter **out, const char *path, const struct opening *how);
int series_open_sealed(bloomfile_filter **out, int fd, uint64_t offset, const struct opening *how);
int series_open_memory(bloomfile_filter **out, const void *image, const struct opening *how);

/* Makes a live series with its first layer. path: NULL for a series in memory. params_take() has
 * checked `p`. */
int series_create(bloomfile_filter **out, const char *path, const struct bloomfile_params *p,
                  unsigned flags);

/* Returns whether `h` can be the header of the sealed layer that follows the layer of `before`. */
bool series_is_next(const struct header *before, const struct header *h);

/* The operations of the handle of a series. series_add() is like adding(). */
int series_add(bloomfile_filter *f, const uint64_t *digests, size_t n, bool *was_new,
               struct adding_done *done);
int series_sync(bloomfile_filter *f, const uint8_t *watermark);
int series_finish(bloomfile_filter *f);
void series_close(bloomfile_filter *f);
int series_copy(const bloomfile_filter *f, struct destination to,
                const struct bloomfile_metadata *m);
int series_rescue(const bloomfile_filter *f, const char *path, unsigned flags);
int series_damage(const bloomfile_filter *f);
int series_status(const bloomfile_filter *f);
void series_recheck(const bloomfile_filter *f);
bool series_is_stale(const bloomfile_filter *f);
void series_info(const bloomfile_filter *f, struct bloomfile_info *sum);
int series_measure(const bloomfile_filter *f, struct bloomfile_measurement *m);
int series_verify(const bloomfile_filter *f, unsigned threads, struct bloomfile_fault *fault);
int series_images(const bloomfile_filter *f, struct handle_images *images);

#endif
