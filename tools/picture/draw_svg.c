/* SPDX-License-Identifier: MIT
 * The picture as SVG. */
#include "picture/picture.h"
#include "picture/svg.h"
#include "shared/cli.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum {
    MARGIN = 32,
    GRID_TOP = 92,
    TEXT_WIDTH = 900,
    SWATCH = 26,
    LEGEND_HEIGHT = 104,
};

static void put_style(FILE *out)
{
    for (unsigned i = 0; i < PICTURE_COLOURS; i++)
        fprintf(out, ".c%u { fill: #%06" PRIx32 " }\n", i, picture_colour(i, false));
    svg_start_dark(out);
    for (unsigned i = 0; i < PICTURE_COLOURS; i++)
        fprintf(out, ".c%u { fill: #%06" PRIx32 " }\n", i, picture_colour(i, true));
}

/* Neighbours of one colour become one rectangle. */
static void put_grid(FILE *out, const struct picture *p, unsigned edge)
{
    fprintf(out, "<g shape-rendering=\"crispEdges\" transform=\"translate(%d %d)\">\n", MARGIN,
            GRID_TOP);
    for (size_t row = 0; row < p->rows; row++) {
        const size_t first = row * p->columns;
        for (size_t column = 0, run; column < p->columns; column += run) {
            unsigned colour = picture_cell_colour(p, first + column);
            run = 1;
            while (column + run < p->columns &&
                   picture_cell_colour(p, first + column + run) == colour)
                run++;
            fprintf(out, "<rect class=\"c%u\" x=\"%zu\" y=\"%zu\" width=\"%zu\" height=\"%u\"/>\n",
                    colour, column * edge, row * edge, run * edge, edge);
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
    const unsigned bar = PICTURE_BLANK * SWATCH, below = top + SWATCH + 18;
    for (unsigned i = 0; i < PICTURE_COLOURS; i++) {
        unsigned gap = i == PICTURE_BLANK ? SWATCH : 0;
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
    unsigned edge = picture_cell_edge(p);
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
