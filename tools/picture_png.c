/* SPDX-License-Identifier: MIT */
#include "picture.h"

#include <math.h>
#include <png.h>
#include <stdlib.h>
#include <string.h>

enum {
    IMAGE_WIDTH = 1024,
    EDGE_MAX = 64
};

static uint32_t blend(uint32_t from, uint32_t to, double share)
{
    uint32_t mixed = 0;
    for (unsigned shift = 0; shift < 24; shift += 8) {
        double a = (double)(from >> shift & 255), b = (double)(to >> shift & 255);
        mixed |= (uint32_t)lround(a + (b - a) * share) << shift;
    }
    return mixed;
}

/* Blue and red, not green and red: colour-blind eyes tell them apart. */
uint32_t picture_colour(unsigned index)
{
    const uint32_t empty = 0x2166AC, mean = 0xF4F2EC, full = 0xB2182B, blank = 0x000000;
    if (index == PICTURE_BLANK)
        return blank;
    if (index < PICTURE_MIDDLE)
        return blend(mean, empty, (double)(PICTURE_MIDDLE - index) / PICTURE_MIDDLE);
    return blend(mean, full, (double)(index - PICTURE_MIDDLE) / PICTURE_MIDDLE);
}

unsigned picture_cell_colour(const struct picture *p, size_t cell)
{
    if (picture_is_blank(p, cell))
        return PICTURE_BLANK;
    double share = picture_distance(p, cell) / PICTURE_LIMIT;
    return (unsigned)(PICTURE_MIDDLE + lround(fmin(fmax(share, -1), 1) * PICTURE_MIDDLE));
}

unsigned picture_cell_edge(const struct picture *p)
{
    size_t edge = IMAGE_WIDTH / p->columns;
    return edge < EDGE_MAX ? (unsigned)edge : EDGE_MAX;
}

static void paint(const struct picture *p, size_t edge, uint8_t *pixels)
{
    size_t width = p->columns * edge;
    for (size_t row = 0; row < p->rows; row++) {
        uint8_t *line = pixels + row * edge * width;
        for (size_t column = 0; column < p->columns; column++)
            memset(line + column * edge, (int)picture_cell_colour(p, row * p->columns + column),
                   edge);
        for (size_t i = 1; i < edge; i++)
            memcpy(line + i * width, line, width);
    }
}

char *picture_png(const struct picture *p, size_t *size)
{
    size_t edge = picture_cell_edge(p);
    png_image image = { .version = PNG_IMAGE_VERSION,
                        .width = (png_uint_32)(p->columns * edge),
                        .height = (png_uint_32)(p->rows * edge),
                        .format = PNG_FORMAT_RGB_COLORMAP,
                        .colormap_entries = PICTURE_COLOURS };
    uint8_t palette[PICTURE_COLOURS * 3];
    for (unsigned i = 0; i < PICTURE_COLOURS; i++)
        for (unsigned j = 0; j < 3; j++)
            palette[3 * i + j] = (uint8_t)(picture_colour(i) >> (16 - 8 * j));

    png_alloc_size_t room = PNG_IMAGE_PNG_SIZE_MAX(image);
    uint8_t *pixels = malloc((size_t)image.width * image.height);
    char *file = malloc(room);
    bool done = false;
    if (pixels != NULL && file != NULL) {
        paint(p, edge, pixels);
        done = png_image_write_to_memory(&image, file, &room, 0, pixels, 0, palette) != 0;
    }
    free(pixels);
    if (!done) {
        png_image_free(&image);
        free(file);
        return NULL;
    }
    *size = room;
    return file;
}
