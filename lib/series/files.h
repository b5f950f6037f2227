/* SPDX-License-Identifier: MIT
 * The files of a live series. */
#ifndef BLOOMFILE_SERIES_FILES_H
#define BLOOMFILE_SERIES_FILES_H

#include <errno.h>
#include <stdint.h>

#include "series/layers.h"

/* The path of a layer's file, for free(); NULL: no memory. */
char *files_path(const struct series *s, uint64_t layer);

/* The number of its file. */
static inline uint64_t files_slot(const struct series *s, uint64_t layer)
{
    return s->generations != 0 ? layer % s->generations : layer;
}

/* Finds all layers that there are, those of `known` among them, which holds the first one at least.
 * The newest one has no successor. BLOOMFILE_ESERIES, _EMISSINGLAYER, or what a layer is refused
 * for. */
int files_find(const struct series *s, const struct layers *known, struct layers **out);

/* Reports that the file of a layer is to blame for an error, which is returned. */
int files_blame(const struct series *s, int reason, uint64_t layer, int error);

/* Whether the file of a layer's slot is that layer, of the series of `like`; ENOENT: there is none,
 * or of a forgetting series, only the one that it replaces. BLOOMFILE_ESERIES, an errno. */
int files_look(const struct series *s, const struct header *like, uint64_t layer);

/* ADDING_SUCCEEDED if the layer has a successor, or if the file of the next one is there, whose
 * maker was killed before it marked this layer. 0 if neither; an errno. */
int files_check_newest(const bloomfile_filter *layer, const void *series);

/* 0 if there is no file of this slot yet; BLOOMFILE_ESERIES, an errno. path: of the first layer. */
int files_check_free(const char *path, uint64_t slot);

/* EMLINK if the file of a layer's slot is a mount point: it has another name, and the next layer
 * would be missing in the folder of that. */
int files_check_mount(const struct series *s, uint64_t layer);

/* Whether a newer generation has the name of a layer by now. */
bool files_passed_on(const struct series *s, const bloomfile_filter *layer);

/* 0 if all layers have their names, or newer generations have, and if the name by which the series
 * was opened still leads there; otherwise BLOOMFILE_EREPLACED, an errno. */
int files_check_names(const struct series *s, const struct layers *l);

/* Whether all headers but for the layer's number, size and rate are the same. */
bool files_same_series(const struct header *a, const struct header *b);

#endif
