/* SPDX-License-Identifier: MIT
 * The files of a live series. */
#ifndef BLOOMFILE_SERIES_FILES_H
#define BLOOMFILE_SERIES_FILES_H

#include <errno.h>
#include <stdint.h>

#include "series/layers.h"

/* The path of a layer's file, for free(). NULL: out of memory. */
char *files_path(const struct series *s, uint64_t layer);

/* The slot of a layer: the number in the name of its file. */
static inline uint64_t files_slot(const struct series *s, uint64_t layer)
{
    return s->generations != 0 ? layer % s->generations : layer;
}

/* Finds all layers of a series (live.md, S1 to S3). `known` has at least the first layer; its open
 * layers are used again. The newest layer found has no successor. BLOOMFILE_ESERIES,
 * _EMISSINGLAYER, or the error for which a layer is refused. */
int files_find(const struct series *s, const struct layers *known, struct layers **out);

/* Puts into the report that the file of a layer caused an error. Returns the error. */
int files_blame(const struct series *s, int reason, uint64_t layer, int error);

/* 0 if the file of a layer's slot is that layer, of the series of `like`. ENOENT: the slot has no
 * file, or in a forgetting series only the layer to be replaced. BLOOMFILE_ESERIES, an errno. */
int files_look(const struct series *s, const struct header *like, uint64_t layer);

/* ADDING_SUCCEEDED if the layer has a successor, or if the next layer's file exists although the
 * bit is not set: its creator was killed in between. 0 if neither; an errno. */
int files_check_newest(const bloomfile_filter *layer, const void *series);

/* 0 if the slot has no file yet; BLOOMFILE_ESERIES, an errno. path: of the first layer. */
int files_check_free(const char *path, uint64_t slot);

/* EMLINK if the file of a layer's slot is a mount point. It has another name then, and the next
 * layer would be missing in the folder of that name. */
int files_check_mount(const struct series *s, uint64_t layer);

/* Whether a newer generation has taken the name of a layer. */
bool files_passed_on(const struct series *s, const bloomfile_filter *layer);

/* 0 if each layer, or a newer generation, has its name, and the name given at opening still leads
 * to the series. Otherwise BLOOMFILE_EREPLACED, an errno. */
int files_check_names(const struct series *s, const struct layers *l);

/* Whether two headers are the same except for the layer's number, size and rate. */
bool files_same_series(const struct header *a, const struct header *b);

#endif
