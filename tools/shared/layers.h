/* SPDX-License-Identifier: MIT
 *
 * The files of a series, by their names and headers: NAME, NAME.1, NAME.2 and so on. The library
 * says that a series cannot be opened; this says which file is to blame.
 */
#ifndef BLOOMFILE_TOOLS_LAYERS_H
#define BLOOMFILE_TOOLS_LAYERS_H

#include <bloomfile_inspect.h>

#include <stdbool.h>
#include <stddef.h>

enum {
    LAYERS_TEXT = 4600 /* with a path */
};

/* Whether a header is that of a layer, live or sealed; and of a live one, the number of its file,
 * 0 being that of the name by which the series is opened. */
bool layers_is_one(const struct bloomfile_info *info);
uint64_t layers_slot(const struct bloomfile_info *info);

/* The path of a further layer of the live series `path`, of which symbolic links are followed. From
 * malloc(); ends the program for lack of memory. */
char *layers_path(const char *path, uint64_t slot);

/* The name of the series of a live layer that was found under the name `path`: without its number.
 * NULL: the name does not end in it. From malloc(). */
char *layers_name(const char *path, uint64_t slot);

/* Why a filter that is a series cannot be opened, if opening it was this error: "its layer x.2 is
 * missing (put it back)". false: it is none, or no file is to blame. */
bool layers_explain(const char *path, int error, char text[LAYERS_TEXT]);

/* "x.1 to x.5": the files beside `path` that have names of its further layers. false: none. */
bool layers_beside(const char *path, char text[LAYERS_TEXT]);

/* Why what has this name cannot be replaced by one file: it is a layer of a live series that has
 * others. false: it can. */
bool layers_hold(const char *path, char text[LAYERS_TEXT]);

/* Why no file may be made by this name: a live series beside it will give it to a layer. false: it
 * may. */
bool layers_claim(const char *path, char text[LAYERS_TEXT]);

#endif
