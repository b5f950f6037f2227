/* SPDX-License-Identifier: MIT
 *
 * Errors of a series, by the names and headers of its files: NAME, NAME.1, NAME.2 and so on. The
 * library reports that a series cannot be opened; this reports which file is to blame.
 */
#ifndef TOOLS_FILTERS_SERIES_ERRORS_H
#define TOOLS_FILTERS_SERIES_ERRORS_H

#include <stdbool.h>

enum {
    LAYERS_TEXT = 4600 /* with a path */
};

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

/* Whether it is a dangling symbolic link. */
bool layers_leads_nowhere(const char *path);

#endif
