/* SPDX-License-Identifier: MIT
 * Names and headers of the files of a series, live or sealed. */
#ifndef TOOLS_FILTERS_SERIES_FILES_H
#define TOOLS_FILTERS_SERIES_FILES_H

#include <bloomfile_inspect.h>

#include <stdbool.h>
#include <stddef.h>

enum {
    LAYERS_MOST = 1000,
    LAYERS_PAGE = 4096 /* where sealed layers begin */
};

struct layers_one {
    int error; /* why there is none: an errno or BLOOMFILE_E* */
    struct bloomfile_info info;
    uint64_t link, next_link; /* of sealed ones: what it says, and what the next one must */
    bool succeeded;
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

/* What begins at a byte of a file, and the file of a slot of a live series. */
struct layers_one layers_look(const char *path, uint64_t at);
struct layers_one layers_look_at_slot(const char *path, uint64_t slot);

/* Whether it is a layer of a live series. */
bool layers_is_live(const struct bloomfile_info *info);

/* The name of a layer's file, as the user of `path` knows it: not by what a symbolic link leads to,
 * unless it is one. */
void layers_put_name(char *text, size_t size, const char *path, uint64_t slot);

#endif
