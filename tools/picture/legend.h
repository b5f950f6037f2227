/* SPDX-License-Identifier: MIT
 *
 * The legend of a PNG image, in pixels that are indices of its palette: picture_colour()'s, then
 * the ground and the ink.
 */
#ifndef BLOOMFILE_TOOLS_PICTURE_LEGEND_H
#define BLOOMFILE_TOOLS_PICTURE_LEGEND_H

#include "picture/picture.h"

enum {
    PICTURE_GROUND = PICTURE_COLOURS,
    PICTURE_INK,
    PICTURE_PALETTE
};

/* What it needs, its margins among it. */
size_t picture_legend_width(void);
size_t picture_legend_height(void);

/* Draws it on the ground that is there, from the first pixel on; `width` is that of a row. */
void picture_legend(const struct picture *p, uint8_t *pixels, size_t width);

#endif
