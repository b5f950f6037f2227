/* SPDX-License-Identifier: MIT
 *
 * Pictures of how full a filter's body is. The body is cut into equal cells, and a cell is shown by
 * how far its fill is from the usual one, the median of the cells that have a bit set: a mean would
 * be moved by the very hole that is to be seen. In a layout that is solved half of all bits are
 * ones; columns take the place of the fill, of which a page has the fewer, the more keys it has.
 * The unit of that distance is the scatter that chance alone gives to a cell of this size, so a
 * healthy filter looks the same at every size, and what chance does not do (a lost page, a range
 * filled twice) stands out even where it moves the fill by a thousandth.
 */
#ifndef BLOOMFILE_TOOLS_PICTURE_H
#define BLOOMFILE_TOOLS_PICTURE_H

#include <bloomfile.h>

#include <stdio.h>
#include <sys/stat.h>

/* From this many times the scatter on, a cell has the strongest colour. */
#define PICTURE_LIMIT 6.0

struct picture {
    size_t columns, rows;
    double *fill;           /* of each cell, row by row; NULL: no picture */
    double median, scatter; /* of the cells */
    double cell_size;       /* in ... */
    const char *unit;       /* ... "bit", "counter" or "page" */
    uint64_t pages;
    const struct picture_words *words;
};

/* What the cells are about. */
struct picture_words {
    const char *fill;        /* "fill", "columns" */
    const char *less, *more; /* "emptier", "fuller" */
    const char *blank;       /* of a cell: "no bit set" */
    double most;             /* of a fill; 1: it is shown in percent */
};

/* For a terminal of `width` columns, and for an image. ENOMEM or an error of
 * bloomfile_measure_map(). */
int picture_for_terminal(struct picture *p, const bloomfile_filter *f, size_t width);
int picture_for_image(struct picture *p, const bloomfile_filter *f);
void picture_free(struct picture *p);

/* A cell's distance from the median, in scatters. */
double picture_distance(const struct picture *p, size_t cell);

/* A cell without any bit, or column, where chance would not leave one. */
bool picture_is_blank(const struct picture *p, size_t cell);

/* How many cells are further than PICTURE_LIMIT from the median. */
size_t picture_outliers(const struct picture *p);

/* The lowest and the highest fill. */
void picture_range(const struct picture *p, double *low, double *high);

/* "45.08 %", or "6.98" columns. Returns text. */
char *picture_fill_text(const struct picture *p, char *text, size_t size, double fill);

/* "1200, 601 bits each": how many there are, and how large. Returns text. */
char *picture_cells_text(const struct picture *p, char *text, size_t size);

/* The fill so many times PICTURE_LIMIT from the median, of those that there can be. */
double picture_fill_at(const struct picture *p, double limits);

/* COLUMNS if set, else the width of the terminal on standard output, else 80. */
size_t picture_terminal_width(void);

/* Each row begins with the number of its first page, `picture_label_width` wide. Blocks if `utf8`,
 * otherwise ASCII. */
void picture_print(FILE *out, const struct picture *p, bool utf8);
unsigned picture_label_width(uint64_t pages);

/* The glyphs of picture_print(): 0 a blank cell, 1 to 8 from empty to full. */
const char *picture_glyph(int index, bool utf8);

/* A whole image in memory from malloc(). `title` and `caption` are UTF-8 without control
 * characters. NULL for lack of memory. */
char *picture_svg(const struct picture *p, const char *title, const char *caption, size_t *size);

/* Ends the program by cli_fail() if there is a file at `path` that picture_save() would not
 * replace, or no folder for it. */
void picture_check_target(const char *path, bool replace);

/* Writes a file that appears whole or not at all; "-" is standard output. Without `replace` an
 * existing file stays as it is; anything but a regular file, and the file `keep`, is never
 * replaced. Ends the program by cli_fail() if it cannot be done. */
void picture_save(const char *path, const void *bytes, size_t size, bool replace,
                  const struct stat *keep);

#endif
