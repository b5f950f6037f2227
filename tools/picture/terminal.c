/* SPDX-License-Identifier: MIT
 * The picture in blocks of a terminal. */
#include "picture/picture.h"

#include "cli/cli.h"

#include <math.h>
#include <stdlib.h>
#include <sys/ioctl.h>
#include <unistd.h>

enum {
    GLYPHS = 8,
    GLYPH_SCATTERS = 2,
    MAX_WIDTH = 10000
};

size_t picture_terminal_width(void)
{
    const char *columns = getenv("COLUMNS");
    uint64_t wanted;
    if (columns != NULL && cli_parse_u64(columns, &wanted) && wanted >= 1 && wanted <= MAX_WIDTH)
        return (size_t)wanted;
    struct winsize window;
    if (ioctl(STDOUT_FILENO, TIOCGWINSZ, &window) == 0 && window.ws_col > 0)
        return window.ws_col;
    return 80;
}

/* Two scatters to a glyph; the median is where the middle two meet. 0 is a blank. */
static int glyph_of(const struct picture *p, size_t cell)
{
    if (picture_is_blank(p, cell))
        return 0;
    double level = floor(picture_distance(p, cell) / GLYPH_SCATTERS) + GLYPHS / 2;
    return 1 + (int)fmin(fmax(level, 0), GLYPHS - 1);
}

const char *picture_glyph(int index, bool utf8)
{
    static const char *const blocks[] = { " ", "▁", "▂", "▃", "▄", "▅", "▆", "▇", "█" };
    static const char *const ascii[] = { " ", ".", ":", "-", "=", "+", "*", "#", "@" };
    return utf8 ? blocks[index] : ascii[index];
}

void picture_print(FILE *out, const struct picture *p, bool utf8)
{
    int label = (int)picture_label_width(p->pages);
    for (size_t row = 0; row < p->rows; row++) {
        double start = floor((double)p->pages * (double)row / (double)p->rows);
        fprintf(out, "%*.0f ", label, start);
        for (size_t column = 0; column < p->columns; column++)
            fputs(picture_glyph(glyph_of(p, row * p->columns + column), utf8), out);
        fputc('\n', out);
    }
}
