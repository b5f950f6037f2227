/* SPDX-License-Identifier: MIT
 * Series of files (NAME, NAME.1, NAME.2 and so on): explaining why a series cannot be opened, and
 * finding the names that belong to a series. */
#ifndef TOOLS_FILTERS_SERIES_H
#define TOOLS_FILTERS_SERIES_H

#include <bloomfile_inspect.h>
#include <bloomfile_open.h>
#include <stdbool.h>

enum {
    SERIES_TEXT = 4600, /* includes a path */
    SERIES_MOST = 1000  /* files in a series */
};

/* Why a series cannot be opened: "its layer x.2 is missing (restore it ...)". `path` is the series,
 * as the user gave it. Returns false if no single file is the cause. */
bool series_explain(const char *path, const struct bloomfile_open_report *report,
                    char text[SERIES_TEXT]);

/* series_explain() for an error after opening, when a layer could not be opened or created. */
bool series_explain_later(const char *path, const bloomfile_filter *f, int error,
                          char text[SERIES_TEXT]);

/* Lists the files next to `path` that have the names of its layers: "x.1 to x.5". Returns false if
 * no such file exists. */
bool series_files(const char *path, char text[SERIES_TEXT]);

/* Why a single file cannot replace `path`: it is a layer of a live series of several files. Returns
 * false if it can be replaced. */
bool series_holds(const char *path, char text[SERIES_TEXT]);

/* Explains why no file may be created or replaced at `path`: a live series has lost the layer of
 * that name, or will give that name to a layer. Only the first two files are looked at. A file
 * that cannot be read counts as a layer. Call series_holds() first if the file exists. Returns
 * false if the name is free. */
bool series_claims(const char *path, char text[SERIES_TEXT]);

/* Whether the path is a dangling symbolic link. */
bool series_dangles(const char *path);

/* Reads the header of a regular file. Returns 0; BLOOMFILE_ENOTREGULAR; ENOENT if the file is
 * missing, another errno if it cannot be read, or the error of bloomfile_inspect(). */
int series_look(const char *path, struct bloomfile_info *info);

/* The number of a layer's file: 0 for the name by which the series is opened. */
uint64_t series_slot(const struct bloomfile_info *info);

/* series_path() returns the path of a layer's file, with symbolic links resolved. series_name()
 * returns the name of the series whose layer has the name `path`, or NULL if `path` does not end in
 * that layer's number. The caller frees the result. */
char *series_path(const char *path, uint64_t slot);
char *series_name(const char *path, uint64_t slot);

/* Returns the name of the first file of a series that would have a layer at `path`, and sets *slot
 * to that layer's number. Returns NULL if `path` is not the name of a layer, or if that first file
 * is a symbolic link: its layers are stored next to the link's target. The caller frees the
 * result. */
char *series_first(const char *path, uint64_t *slot);

#endif
