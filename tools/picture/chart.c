/* SPDX-License-Identifier: MIT
 * A chart as an SVG image: axes, curves and names, from the elements of svg.h. */
#include "picture/chart.h"
#include "picture/svg.h"

#include <math.h>
#include <stdbool.h>
#include <stdlib.h>

enum {
    WIDTH = 960,
    NAMES = 40, /* to the right of the chart */
    NAME_ROOM = 21,
    KEY_ROOM = 22,
    TICK_ROOM = 48,
    MARGIN = 24,
};

void chart_start(const struct chart *c, const char *title, const char *style,
                 const char *dark_style)
{
    svg_start(c->out, WIDTH, (unsigned)c->height, title);
    fprintf(c->out,
            "line { stroke: #ddd; stroke-width: 1 }\n"
            "polyline { fill: none; stroke-width: 1.5 }\n"
            "polyline.name { stroke: #aaa; stroke-width: 1 }\n"
            "%s",
            style);
    svg_start_dark(c->out);
    fprintf(c->out,
            "line { stroke: #3a3f47 }\n"
            "polyline.name { stroke: #6a7079 }\n"
            "%s",
            dark_style);
    svg_start_picture(c->out, WIDTH, (unsigned)c->height);
    svg_text(c->out, "title", MARGIN, 40, title);
}

void chart_words(const struct chart *c, unsigned line, const char *words)
{
    svg_text(c->out, "start", MARGIN, 64 + 20 * line, words);
}

/* 0 at the low end of the axis, 1 at the high end. */
static double part(const struct chart_axis *a, double value)
{
    return a->scale == CHART_LINEAR ? (value - a->low) / (a->high - a->low)
                                    : log(value / a->low) / log(a->high / a->low);
}

double chart_x(const struct chart *c, double value)
{
    return c->left + part(&c->x, value) * (c->right - c->left);
}

double chart_y(const struct chart *c, double value)
{
    return c->bottom - part(&c->y, value) * (c->bottom - c->top);
}

static void put_class(const struct chart *c, const char *class)
{
    if (class != NULL)
        fprintf(c->out, " class=\"%s\"", class);
}

void chart_line(const struct chart *c, const char *class, double x1, double y1, double x2,
                double y2)
{
    fputs("<line", c->out);
    put_class(c, class);
    fprintf(c->out, " x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", x1, y1, x2, y2);
}

void chart_mark(const struct chart *c, const char *class, double x, double y, double radius,
                const char *title)
{
    fputs("<circle", c->out);
    put_class(c, class);
    fprintf(c->out, " cx=\"%.1f\" cy=\"%.1f\" r=\"%.2g\"", x, y, radius);
    if (title != NULL)
        fprintf(c->out, "><title>%s</title></circle>\n", title);
    else
        fputs("/>\n", c->out);
}

static bool has_place(const struct chart_axis *a, double value)
{
    return a->scale == CHART_LINEAR ? !isnan(value) : value > 0;
}

void chart_curve_start(const struct chart *c, const char *class)
{
    fprintf(c->out, "<polyline class=\"%s\" points=\"", class);
}

void chart_curve_point(const struct chart *c, double x, double y)
{
    if (has_place(&c->x, x) && has_place(&c->y, y))
        fprintf(c->out, "%.1f,%.1f ", chart_x(c, x), chart_y(c, y));
}

void chart_curve_end(const struct chart *c)
{
    fputs("\"/>\n", c->out);
}

/* ---- ticks */

static void put_tick(const struct chart *c, const struct chart_axis *a, double value, double place)
{
    char room[64];
    const char *text = room;
    if (a->text != NULL)
        text = a->text(room, sizeof(room), value);
    else
        snprintf(room, sizeof(room), "%.4g%s", value * a->times, a->unit);
    if (a == &c->x) {
        chart_line(c, "grid", place, c->top, place, c->bottom);
        svg_text(c->out, "middle", place, c->bottom + 22, text);
    } else {
        chart_line(c, "grid", c->left, place, c->right, place);
        svg_text(c->out, "end", c->left - 10, place + 5, text);
    }
}

/* Writes a tick if there is room next to the last tick. */
static void try_tick(const struct chart *c, const struct chart_axis *a, double value, double *last)
{
    const double place = a == &c->x ? chart_x(c, value) : chart_y(c, value);
    const double room = a->scale == CHART_DOUBLINGS ? 2 * TICK_ROOM : TICK_ROOM;
    if (value < a->low * (1 - 1e-9) || value > a->high * (1 + 1e-9) || fabs(place - *last) < room)
        return;
    put_tick(c, a, value, place);
    *last = place;
}

/* Ticks are at these multiples of powers of ten: few on a long axis, many on a short axis. */
static const double *multiples_for(const struct chart_axis *a)
{
    static const double few[] = { 1, 0 }, some[] = { 1, 2, 5, 0 },
                        many[] = { 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9, 0 };
    return a->scale == CHART_DOUBLINGS || a->high / a->low > 1e4 ? few
           : a->high / a->low > 10                               ? some
                                                                 : many;
}

static void put_ticks(const struct chart *c, const struct chart_axis *a)
{
    const double base = a->scale == CHART_DOUBLINGS ? 2 : 10;
    double last = HUGE_VAL;
    if (a->scale == CHART_LINEAR) {
        for (double value = ceil(a->low); value <= a->high; value++)
            try_tick(c, a, value, &last);
        return;
    }
    for (double power = pow(base, floor(log(a->low) / log(base) + 1e-9));
         power <= a->high * (1 + 1e-9); power *= base)
        for (const double *multiple = multiples_for(a); *multiple != 0; multiple++)
            try_tick(c, a, *multiple * power, &last);
}

void chart_axes(const struct chart *c)
{
    put_ticks(c, &c->x);
    put_ticks(c, &c->y);
    svg_text(c->out, "middle", (c->left + c->right) / 2, c->bottom + 52, c->x.label);
    svg_text(c->out, "start", MARGIN, c->top - 16, c->y.label);
}

/* ---- names */

static int by_height(const void *a, const void *b)
{
    const double x = ((const struct chart_name *)a)->y, y = ((const struct chart_name *)b)->y;
    return (x > y) - (x < y);
}

/* Places the names from the top down, each below the name before it. Then moves names up, from the
 * bottom, until the last is inside the picture. */
static void place(const struct chart *c, struct chart_name *names, size_t count)
{
    double free_from = c->top;
    for (size_t i = 0; i < count; i++) {
        names[i].text_y = fmax(names[i].y, free_from);
        free_from = names[i].text_y + NAME_ROOM;
    }
    double free_to = c->bottom;
    for (size_t i = count; i-- > 0;) {
        names[i].text_y = fmin(names[i].text_y, free_to);
        free_to = names[i].text_y - NAME_ROOM;
    }
}

void chart_names(const struct chart *c, struct chart_name *names, size_t count)
{
    const double left = c->right + NAMES;
    qsort(names, count, sizeof(names[0]), by_height);
    place(c, names, count);
    for (size_t i = 0; i < count; i++) {
        const struct chart_name *n = &names[i];
        fprintf(c->out, "<polyline class=\"name\" points=\"%.1f,%.1f %.0f,%.1f %.0f,%.1f\"/>\n",
                n->x + 7, n->y, c->right + 5, n->y, left - 6, n->text_y);
        if (n->key != NULL)
            chart_mark(c, n->key, left + KEY_ROOM / 3.0, n->text_y, 5, NULL);
        svg_text(c->out, "name", left + (n->key != NULL ? KEY_ROOM : 0), n->text_y + 5, n->text);
    }
}

void chart_end(const struct chart *c)
{
    fputs("</svg>\n", c->out);
}
