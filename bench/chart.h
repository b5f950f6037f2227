/* SPDX-License-Identifier: MIT
 *
 * A chart as an SVG image: two axes, marks, and their names in a column on the right, each on a
 * level with its mark if there is room.
 */
#ifndef BLOOMFILE_BENCH_CHART_H
#define BLOOMFILE_BENCH_CHART_H

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

enum {
    CHART_LEFT = 90,
    CHART_RIGHT = 600,
    CHART_TOP = 126,
    CHART_BOTTOM = 526,
};

struct chart_axis {
    const char *label;
    double low, high;
    bool is_linear;   /* else logarithmic */
    double times;     /* a tick's text is its value times this, */
    const char *unit; /* and this */
};

struct chart {
    FILE *out;
    struct chart_axis x, y;
};

/* The root element as far as the picture's title, and below it up to two lines of words. `style`:
 * CSS for the caller's classes, and the same for dark screens. */
void chart_start(FILE *out, const char *title, const char *style, const char *dark_style);
void chart_words(FILE *out, unsigned line, const char *words);

/* The ticks, with lines across the chart, and the labels. */
void chart_axes(const struct chart *c);

/* Where a value lies in the picture. */
double chart_x(const struct chart *c, double value);
double chart_y(const struct chart *c, double value);

void chart_line(FILE *out, const char *class, double x1, double y1, double x2, double y2);
void chart_mark(FILE *out, const char *class, double x, double y, double radius);

struct chart_name {
    double x, y; /* of the mark, in the picture */
    double text_y;
    const char *key; /* the class of a mark before the text; NULL: none */
    char text[96];
};

/* Sorts the names by height and writes them, a thin line from each to its mark. */
void chart_names(FILE *out, struct chart_name *names, size_t count);

void chart_end(FILE *out);

#endif
