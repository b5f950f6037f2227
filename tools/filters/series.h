/* SPDX-License-Identifier: MIT
 * Series of files: NAME, NAME.1, NAME.2 and so on. Why the library could not open one, in words,
 * and which names belong to one.
 */
#ifndef TOOLS_FILTERS_SERIES_H
#define TOOLS_FILTERS_SERIES_H

#include <bloomfile_inspect.h>
#include <bloomfile_open.h>
#include <stdbool.h>

enum {
    SERIES_TEXT = 4600, /* with a path */
    SERIES_MOST = 1000  /* files */
};

/* Why a series cannot be opened: "its layer x.2 is missing (restore it ...)". path: of the series,
 * as the user gave it. false: no single file is to blame. */
bool series_explain(const char *path, const struct bloomfile_open_report *report,
                    char text[SERIES_TEXT]);

/* The same for an error after it was opened: if a layer could not be opened or made. */
bool series_explain_later(const char *path, const bloomfile_filter *f, int error,
                          char text[SERIES_TEXT]);

/* "x.1 to x.5": the files next to `path` that have the names of its layers. false: no such files.
 */
bool series_files(const char *path, char text[SERIES_TEXT]);

/* Why one file cannot replace the file: it is a layer of a live series of several. false: it can.
 */
bool series_holds(const char *path, char text[SERIES_TEXT]);

/* Why no file may be made by this name: a live series will give it to a layer. false: it may. */
bool series_claims(const char *path, char text[SERIES_TEXT]);

/* Whether it is a dangling symbolic link. */
bool series_dangles(const char *path);

/* Reads the header of a file. false: it is not a filter. */
bool series_look(const char *path, struct bloomfile_info *info);

/* Of a layer, the number of its file: 0 for the name by which the series is opened. */
uint64_t series_slot(const struct bloomfile_info *info);

/* The path of a layer's file, through symbolic links; and the name of the series whose layer has
 * the name `path`, NULL if that does not end in the layer's number. The caller frees them. */
char *series_path(const char *path, uint64_t slot);
char *series_name(const char *path, uint64_t slot);

#endif
