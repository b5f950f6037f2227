/* SPDX-License-Identifier: MIT
 * The picture by libpng. */
#include "picture/legend.h"
#include "picture/picture.h"

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
uint32_t picture_colour(unsigned index, bool dark)
{
    static const struct {
        uint32_t empty, median, full, blank;
    } colours[] = { { 0x2166AC, 0xF4F2EC, 0xB2182B, 0x000000 },
                    { 0x6CB6FF, 0x33353A, 0xFF7B72, 0xFFFFFF } };
    uint32_t median = colours[dark].median;
    if (index == PICTURE_BLANK)
        return colours[dark].blank;
    if (index < PICTURE_MIDDLE)
        return blend(median, colours[dark].empty,
                     (double)(PICTURE_MIDDLE - index) / PICTURE_MIDDLE);
    return blend(median, colours[dark].full, (double)(index - PICTURE_MIDDLE) / PICTURE_MIDDLE);
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

static void paint(const struct picture *p, size_t edge, uint8_t *pixels, size_t width)
{
    for (size_t row = 0; row < p->rows; row++) {
        uint8_t *line = pixels + row * edge * width;
        for (size_t column = 0; column < p->columns; column++)
            memset(line + column * edge, (int)picture_cell_colour(p, row * p->columns + column),
                   edge);
        for (size_t i = 1; i < edge; i++)
            memcpy(line + i * width, line, width);
    }
}

static void fill_palette(uint8_t palette[PICTURE_PALETTE * 3])
{
    const uint32_t ground = 0xFFFFFF, ink = 0x333333;
    for (unsigned i = 0; i < PICTURE_PALETTE; i++) {
        uint32_t colour = i == PICTURE_GROUND ? ground
                          : i == PICTURE_INK  ? ink
                                              : picture_colour(i, false);
        for (unsigned j = 0; j < 3; j++)
            palette[3 * i + j] = (uint8_t)(colour >> (16 - 8 * j));
    }
}

char *picture_png(const struct picture *p, size_t *size)
{
    size_t edge = picture_cell_edge(p), height = p->rows * edge, width = p->columns * edge;
    if (width < picture_legend_width())
        width = picture_legend_width();
    png_image image = { .version = PNG_IMAGE_VERSION,
                        .width = (png_uint_32)width,
                        .height = (png_uint_32)(height + picture_legend_height()),
                        .format = PNG_FORMAT_RGB_COLORMAP,
                        .colormap_entries = PICTURE_PALETTE };
    uint8_t palette[PICTURE_PALETTE * 3];
    fill_palette(palette);

    png_alloc_size_t room = PNG_IMAGE_PNG_SIZE_MAX(image);
    uint8_t *pixels = malloc(width * image.height);
    char *file = malloc(room);
    bool done = false;
    if (pixels != NULL && file != NULL) {
        memset(pixels, PICTURE_GROUND, width * image.height);
        paint(p, edge, pixels, width);
        picture_legend(p, pixels + height * width, width);
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
