/* SPDX-License-Identifier: MIT
 *
 * Pictures of how full each part of a filter's body is.
 *
 * The body is divided into equal cells. A cell is drawn by the distance of its fill from the median
 * of the cells that have a bit set. (A mean would be moved by the very hole that the picture should
 * show.) The unit of the distance is the scatter that chance alone gives to a cell of this size. So
 * a healthy filter looks the same at every size. Anything that chance does not explain stands out,
 * even if it moves the fill by a thousandth: a lost page, or a range filled twice.
 *
 * In a solved layout half of all bits are set, so columns take the place of the fill. The more keys
 * a page has, the fewer columns it has.
 */
#ifndef BLOOMFILE_TOOLS_PICTURE_H
#define BLOOMFILE_TOOLS_PICTURE_H

#include <bloomfile.h>

#include <stdio.h>
#include <sys/stat.h>

/* At this many scatters from the median, a cell has the strongest colour. */
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

/* Words for the cells. */
struct picture_words {
    const char *fill;        /* "fill", "columns" */
    const char *less, *more; /* "emptier", "fuller" */
    const char *blank;       /* a blank cell: "no bit set" */
    double most;             /* maximum of a fill; 1: print it in percent */
};

/* Measure a filter for a terminal of `width` columns, or for an image. Return 0, ENOMEM or an error
 * of bloomfile_measure_map(). */
int picture_for_terminal(struct picture *p, const bloomfile_filter *f, size_t width);
int picture_for_image(struct picture *p, const bloomfile_filter *f);
void picture_free(struct picture *p);

/* The distance of a cell from the median, in scatters. */
double picture_distance(const struct picture *p, size_t cell);

/* Whether a cell has no bit, or column, and chance does not explain that. */
bool picture_is_blank(const struct picture *p, size_t cell);

/* The number of cells further than PICTURE_LIMIT from the median. */
size_t picture_outliers(const struct picture *p);

/* The lowest and the highest fill. */
void picture_range(const struct picture *p, double *low, double *high);

/* "45.08%", or "6.98" columns. Returns text. */
char *picture_fill_text(const struct picture *p, char *text, size_t size, double fill);

/* "1200, 601 bits each": the number and size of the cells. Returns text. */
char *picture_cells_text(const struct picture *p, char *text, size_t size);

/* The fill at `limits` times PICTURE_LIMIT from the median, limited to possible values. */
double picture_fill_at(const struct picture *p, double limits);

/* COLUMNS if set, else the width of the terminal on standard output, else 80. */
size_t picture_terminal_width(void);

/* Prints the picture. Each row begins with the number of its first page, `picture_label_width`
 * wide. Cells are block characters if `utf8`, otherwise ASCII. */
void picture_print(FILE *out, const struct picture *p, bool utf8);
unsigned picture_label_width(uint64_t pages);

/* The glyphs of picture_print(): 0 is a blank cell, 1 to 8 go from empty to full. */
const char *picture_glyph(int index, bool utf8);

/* Returns a complete image in memory from malloc(), or NULL if memory runs out. `title` and
 * `caption` are UTF-8 without control characters. */
char *picture_svg(const struct picture *p, const char *title, const char *caption, size_t *size);

/* Ends the program through cli_fail() if `path` is a file that picture_save() would not replace, or
 * has no writable folder. */
void picture_check_target(const char *path, bool replace);

/* Writes a file that appears complete or not at all; "-" is standard output. Without `replace`, an
 * existing file stays unchanged. The file `keep`, a filter, and any file but an SVG image or an
 * empty file are never replaced. Ends the program through cli_fail() on an error. */
void picture_save(const char *path, const void *bytes, size_t size, bool replace,
                  const struct stat *keep);

#endif
