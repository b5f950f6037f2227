/* SPDX-License-Identifier: MIT
 * The legend of a PNG image, drawn below its cells. */
#include "picture/legend.h"

#include <string.h>

enum {
    MARGIN = 16,
    SWATCH = 20,
    BAR = PICTURE_BLANK * SWATCH,
    SCALE = 2, /* pixels of the image for each of a glyph's */
    GLYPH_WIDTH = 5,
    GLYPH_HEIGHT = 7,
    STEP = (GLYPH_WIDTH + 1) * SCALE,
    LINE = (GLYPH_HEIGHT + 3) * SCALE,
    FILL_SIZE = 64
};

/* Of those there are, the longest. */
static const char blank_words[] = "no bit set";

/* Row by row, from the top. */
static const struct glyph {
    char letter;
    char dots[GLYPH_WIDTH * GLYPH_HEIGHT + 1];
} glyphs[] = {
    { '0', " ### #   ##  ### # ###  ##   # ### " }, { '1', "  #   ##    #    #    #    #   ### " },
    { '2', " ### #   #    #   #   #   #   #####" }, { '3', " ### #   #    #  ##     ##   # ### " },
    { '4', "   #   ##  # # #  # #####   #    # " }, { '5', "######    ####     #    ##   # ### " },
    { '6', "  ##  #   #    #### #   ##   # ### " }, { '7', "#####    #   #   #   #    #    #   " },
    { '8', " ### #   ##   # ### #   ##   # ### " }, { '9', " ### #   ##   # ####    #   #  ##  " },
    { '.', "                           ##   ## " }, { '%', "##   ##  #   #   #   #   #  ##   ##" },
    { '-', "               #####               " }, { '+', "       #    #  #####  #    #       " },
    { 'a', "           ###     # #####   # ####" }, { 'b', "#    #    #### #   ##   ##   ##### " },
    { 'd', "    #    # #####   ##   ##   # ####" }, { 'e', "           ### #   #######     ### " },
    { 'f', "  ##  #  # #   ###   #    #    #   " }, { 'i', "  #        ##    #    #    #   ### " },
    { 'l', " ##    #    #    #    #    #   ### " }, { 'm', "          ## # # # ## # ## # ## # #" },
    { 'n', "          # ## ##  ##   ##   ##   #" }, { 'o', "           ### #   ##   ##   # ### " },
    { 'p', "          #### #   ##### #    #    " }, { 'r', "          # ## ##  ##    #    #    " },
    { 's', "           #####     ###     ##### " }, { 't', " #    #   ###   #    #    #  #  ## " },
    { 'u', "          #   ##   ##   ##  ## ## #" }, { 'v', "          #   ##   ##   # # #   #  " },
};

struct canvas {
    uint8_t *pixels;
    size_t width; /* of a row */
};

static void paint(const struct canvas *c, size_t x, size_t y, size_t width, size_t height,
                  unsigned colour)
{
    for (size_t row = y; row < y + height; row++)
        memset(c->pixels + row * c->width + x, (int)colour, width);
}

static const char *dots_of(char letter)
{
    for (size_t i = 0; i < sizeof(glyphs) / sizeof(glyphs[0]); i++) {
        if (glyphs[i].letter == letter)
            return glyphs[i].dots;
    }
    return NULL; /* a blank */
}

static void write_text(const struct canvas *c, size_t x, size_t y, const char *text)
{
    for (; *text != '\0'; text++, x += STEP) {
        const char *dots = dots_of(*text);
        for (size_t i = 0; dots != NULL && dots[i] != '\0'; i++) {
            if (dots[i] == '#')
                paint(c, x + i % GLYPH_WIDTH * SCALE, y + i / GLYPH_WIDTH * SCALE, SCALE, SCALE,
                      PICTURE_INK);
        }
    }
}

/* A fill and its word below the bar, so many halves of it from its start. */
static void write_mark(const struct canvas *c, const struct picture *p, size_t y, unsigned halves,
                       double fill, const char *word)
{
    char text[FILL_SIZE];
    const char *const rows[] = { picture_fill_text(p, text, sizeof(text), fill), word };
    for (size_t i = 0; i < 2; i++) {
        size_t width = strlen(rows[i]) * STEP - SCALE;
        write_text(c, MARGIN + (BAR - width) * halves / 2, y + i * LINE, rows[i]);
    }
}

size_t picture_legend_width(void)
{
    return MARGIN + BAR + 2 * SWATCH + SWATCH / 2 + strlen(blank_words) * STEP + MARGIN;
}

size_t picture_legend_height(void)
{
    return MARGIN + SWATCH + SWATCH / 2 + 2 * LINE + MARGIN;
}

void picture_legend(const struct picture *p, uint8_t *pixels, size_t width)
{
    const struct canvas c = { pixels, width };
    const size_t below = MARGIN + SWATCH + SWATCH / 2;
    const size_t blank = MARGIN + BAR + SWATCH;
    for (unsigned i = 0; i < PICTURE_BLANK; i++)
        paint(&c, MARGIN + (size_t)i * SWATCH, MARGIN, SWATCH, SWATCH, i);
    paint(&c, blank, MARGIN, SWATCH, SWATCH, PICTURE_BLANK);
    write_text(&c, blank + SWATCH + SWATCH / 2, MARGIN + (SWATCH - GLYPH_HEIGHT * SCALE) / 2,
               p->words->blank);
    write_mark(&c, p, below, 0, picture_fill_at(p, -1), p->words->less);
    write_mark(&c, p, below, 1, p->median, "median");
    write_mark(&c, p, below, 2, picture_fill_at(p, 1), p->words->more);
}
