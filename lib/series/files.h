/* SPDX-License-Identifier: MIT
 * The files of a live series. */
#ifndef BLOOMFILE_SERIES_FILES_H
#define BLOOMFILE_SERIES_FILES_H

#include <errno.h>
#include <stdint.h>

#include "series/layers.h"

/* Returns the path of a layer's file, to be released by free(); NULL if memory runs out. */
char *files_path(const struct series *s, uint64_t layer);

/* The slot of a layer: the number in the name of its file. */
static inline uint64_t files_slot(const struct series *s, uint64_t layer)
{
    return s->generations != 0 ? layer % s->generations : layer;
}

/* Finds all layers of a series (live.md, S1 to S3), up to a layer without a successor. `known` has
 * at least the first layer; its open layers are reused. Returns 0, BLOOMFILE_ESERIES,
 * _EMISSINGLAYER, or the error with which a layer is refused. */
int files_find(const struct series *s, const struct layers *known, struct layers **out);

/* Records in the report that the file of a layer caused an error. Returns the error. */
int files_blame(const struct series *s, int reason, uint64_t layer, int error);

/* Checks that the file in a layer's slot is that layer, of the series of `like`. Returns 0; ENOENT
 * if the slot has no file or, in a forgetting series, only the layer to be replaced;
 * BLOOMFILE_ESERIES; or an errno. */
int files_look(const struct series *s, const struct header *like, uint64_t layer);

/* Returns ADDING_SUCCEEDED if the layer has a successor, also if the successor bit is not set
 * because the creator of the next file was killed before that. Returns 0 if it has none; or an
 * errno. */
int files_check_newest(const bloomfile_filter *layer, const void *series);

/* Returns 0 if the slot has no file yet, BLOOMFILE_ESERIES if it has, or an errno. path: of the
 * first layer. */
int files_check_free(const char *path, uint64_t slot);

/* Returns EMLINK if the file in a layer's slot is a mount point: the file also has a name in
 * another folder, where the next layer would be missing. */
int files_check_mount(const struct series *s, uint64_t layer);

/* Returns whether a newer generation has taken the name of a layer. */
bool files_passed_on(const struct series *s, const bloomfile_filter *layer);

/* Returns 0 if each layer's name still belongs to it or to a newer generation, and the path given
 * at opening still leads to the series; otherwise BLOOMFILE_EREPLACED or an errno. */
int files_check_names(const struct series *s, const struct layers *l);

/* Returns whether two headers belong to the same series: they are equal except for the layer's
 * number, size and rate. */
bool files_same_series(const struct header *a, const struct header *b);

#endif
