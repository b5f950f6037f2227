/* SPDX-License-Identifier: MIT
 * The picture as SVG. */
#include "cli/cli.h"
#include "picture/picture.h"
#include "picture/svg.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum {
    MARGIN = 32,
    GRID_TOP = 92,
    TEXT_WIDTH = 900,
    SWATCH = 26,
    LEGEND_HEIGHT = 104,
    IMAGE_WIDTH = 1024,
    EDGE_MAX = 64,
    MIDDLE = 8,             /* the colour of the median; 0 is empty, 2 * MIDDLE is full */
    BLANK = 2 * MIDDLE + 1, /* the colour of a blank cell */
    COLOURS
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

/* The colours from empty to full, then of blank cells, as 0xRRGGBB. They are blue and red, not
 * green and red, which colour-blind people cannot distinguish. */
static uint32_t colour(unsigned index, bool dark)
{
    static const struct {
        uint32_t empty, median, full, blank;
    } colours[] = { { 0x2166AC, 0xF4F2EC, 0xB2182B, 0x000000 },
                    { 0x6CB6FF, 0x33353A, 0xFF7B72, 0xFFFFFF } };
    uint32_t median = colours[dark].median;
    if (index == BLANK)
        return colours[dark].blank;
    if (index < MIDDLE)
        return blend(median, colours[dark].empty, (double)(MIDDLE - index) / MIDDLE);
    return blend(median, colours[dark].full, (double)(index - MIDDLE) / MIDDLE);
}

static unsigned cell_colour(const struct picture *p, size_t cell)
{
    if (picture_is_blank(p, cell))
        return BLANK;
    double share = picture_distance(p, cell) / PICTURE_LIMIT;
    return (unsigned)(MIDDLE + lround(fmin(fmax(share, -1), 1) * MIDDLE));
}

static unsigned cell_edge(const struct picture *p)
{
    size_t edge = IMAGE_WIDTH / p->columns;
    return edge < EDGE_MAX ? (unsigned)edge : EDGE_MAX;
}

static void put_style(FILE *out)
{
    for (unsigned i = 0; i < COLOURS; i++)
        fprintf(out, ".c%u { fill: #%06" PRIx32 " }\n", i, colour(i, false));
    svg_start_dark(out);
    for (unsigned i = 0; i < COLOURS; i++)
        fprintf(out, ".c%u { fill: #%06" PRIx32 " }\n", i, colour(i, true));
}

/* Adjacent cells of the same colour become a single rectangle. */
static void put_grid(FILE *out, const struct picture *p, unsigned edge)
{
    fprintf(out, "<g shape-rendering=\"crispEdges\" transform=\"translate(%d %d)\">\n", MARGIN,
            GRID_TOP);
    for (size_t row = 0; row < p->rows; row++) {
        const size_t first = row * p->columns;
        for (size_t column = 0, run; column < p->columns; column += run) {
            const unsigned index = cell_colour(p, first + column);
            run = 1;
            while (column + run < p->columns && cell_colour(p, first + column + run) == index)
                run++;
            fprintf(out, "<rect class=\"c%u\" x=\"%zu\" y=\"%zu\" width=\"%zu\" height=\"%u\"/>\n",
                    index, column * edge, row * edge, run * edge, edge);
        }
    }
    fputs("</g>\n", out);
}

static void put_fill(FILE *out, const struct picture *p, const char *class, unsigned x, unsigned y,
                     double fill)
{
    char text[64];
    svg_text(out, class, x, y, picture_fill_text(p, text, sizeof(text), fill));
}

static void put_legend(FILE *out, const struct picture *p, unsigned top)
{
    const unsigned bar = BLANK * SWATCH, below = top + SWATCH + 18;
    for (unsigned i = 0; i < COLOURS; i++) {
        unsigned gap = i == BLANK ? SWATCH : 0;
        fprintf(out, "<rect class=\"c%u\" x=\"%u\" y=\"%u\" width=\"%d\" height=\"%d\"/>\n", i,
                MARGIN + gap + i * SWATCH, top, SWATCH, SWATCH);
    }
    put_fill(out, p, "start", MARGIN, below, picture_fill_at(p, -1));
    put_fill(out, p, "middle", MARGIN + bar / 2, below, p->median);
    put_fill(out, p, "end", MARGIN + bar, below, picture_fill_at(p, 1));
    svg_text(out, "start", MARGIN + bar + 2 * SWATCH + 8, top + 18, p->words->blank);

    char note[256], cells[128];
    snprintf(note, sizeof(note),
             "Cells: %s, in the order of the body, row by row from the top left.",
             picture_cells_text(p, cells, sizeof(cells)));
    svg_text(out, "start", MARGIN, below + 28, note);
    snprintf(
        note, sizeof(note),
        "The colours reach to %.0f times the scatter that chance gives; cells further from the "
        "median: %zu.",
        PICTURE_LIMIT, picture_outliers(p));
    svg_text(out, "start", MARGIN, below + 48, note);
}

static void put_svg(FILE *out, const struct picture *p, const char *title, const char *caption)
{
    unsigned edge = cell_edge(p);
    unsigned grid_width = (unsigned)p->columns * edge, grid_height = (unsigned)p->rows * edge;
    unsigned width = 2 * MARGIN + (grid_width > TEXT_WIDTH ? grid_width : TEXT_WIDTH);
    unsigned legend = GRID_TOP + grid_height + 24, height = legend + LEGEND_HEIGHT + MARGIN;
    svg_start(out, width, height, title);
    put_style(out);
    svg_start_picture(out, width, height);
    svg_text(out, "title", MARGIN, 44, title);
    svg_text(out, "start", MARGIN, 70, caption);
    put_grid(out, p, edge);
    put_legend(out, p, legend);
    fputs("</svg>\n", out);
}

char *picture_svg(const struct picture *p, const char *title, const char *caption, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    if (out == NULL)
        return NULL;
    put_svg(out, p, title, caption);
    bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed) {
        free(text);
        return NULL;
    }
    return text;
}
