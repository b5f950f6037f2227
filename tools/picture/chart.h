/* SPDX-License-Identifier: MIT
 * A chart as an SVG image: two axes, curves and marks. Names can be added in a column on the right,
 * each level with its mark if there is room. */
#ifndef BLOOMFILE_TOOLS_CHART_H
#define BLOOMFILE_TOOLS_CHART_H

#include <stddef.h>
#include <stdio.h>

enum chart_scale {
    CHART_LINEAR,
    CHART_DECADES,   /* logarithmic, with ticks at multiples of powers of ten */
    CHART_DOUBLINGS, /* logarithmic, with ticks at powers of two */
};

struct chart_axis {
    const char *label;
    enum chart_scale scale;
    double low, high;
    /* The text of a tick: from a function, or the value times `times`, with a unit. */
    char *(*text)(char *text, size_t size, double value);
    double times;
    const char *unit;
};

struct chart {
    FILE *out;
    double height, left, right, top, bottom; /* of the picture, and of the chart in it */
    struct chart_axis x, y;
};

/* chart_start() writes the root element up to the picture's title; chart_words() adds up to two
 * lines of text below it. `style` is CSS for the caller's classes; `dark_style` is the same for
 * dark screens. */
void chart_start(const struct chart *c, const char *title, const char *style,
                 const char *dark_style);
void chart_words(const struct chart *c, unsigned line, const char *words);

/* Writes the ticks, with lines across the chart, and the labels. */
void chart_axes(const struct chart *c);

/* The position of a value in the picture. */
double chart_x(const struct chart *c, double value);
double chart_y(const struct chart *c, double value);

/* Draw at a position in the picture. `class` and `title` may be NULL. */
void chart_line(const struct chart *c, const char *class, double x1, double y1, double x2,
                double y2);
void chart_mark(const struct chart *c, const char *class, double x, double y, double radius,
                const char *title);

/* Draw a curve through values, without NaN and values that have no place on a logarithmic axis. */
void chart_curve_start(const struct chart *c, const char *class);
void chart_curve_point(const struct chart *c, double x, double y);
void chart_curve_end(const struct chart *c);

struct chart_name {
    double x, y; /* of the mark, in the picture */
    double text_y;
    const char *key; /* class of a mark before the text; may be NULL */
    char text[96];
};

/* Sorts the names by height and writes them, with a thin line from each to its mark. */
void chart_names(const struct chart *c, struct chart_name *names, size_t count);

void chart_end(const struct chart *c);

#endif
