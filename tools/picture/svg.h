/* SPDX-License-Identifier: MIT
 * Elements that the SVG images of the tools share. */
#ifndef BLOOMFILE_TOOLS_SVG_H
#define BLOOMFILE_TOOLS_SVG_H

#include <stdio.h>

/* svg_start() writes the root element up to its title, and the style sheet with the classes of text
 * ("title", "middle", "end"). svg_start_dark() begins the part for dark screens, with the same
 * classes. svg_start_picture() ends both and paints the background. */
void svg_start(FILE *out, unsigned width, unsigned height, const char *title);
void svg_start_dark(FILE *out);
void svg_start_picture(FILE *out, unsigned width, unsigned height);

/* Writes a line of text: UTF-8 without control characters. */
void svg_text(FILE *out, const char *class, double x, double y, const char *text);

#endif
