/* SPDX-License-Identifier: MIT */
#include "chart.h"

#include <math.h>
#include <stdlib.h>

#include "picture/svg.h"

enum {
    WIDTH = 960,
    HEIGHT = 600,
    NAMES = 640,
    NAME_ROOM = 21,
    KEY_ROOM = 22,
    TICK_ROOM = 48,
    MARGIN = 24,
};

void chart_start(FILE *out, const char *title, const char *style, const char *dark_style)
{
    svg_start(out, WIDTH, HEIGHT, title);
    fprintf(out,
            "line { stroke: #ddd; stroke-width: 1 }\n"
            "polyline.name { fill: none; stroke: #aaa; stroke-width: 1 }\n"
            "%s",
            style);
    svg_start_dark(out);
    fprintf(out,
            "line { stroke: #3a3f47 }\n"
            "polyline.name { stroke: #6a7079 }\n"
            "%s",
            dark_style);
    svg_start_picture(out, WIDTH, HEIGHT);
    svg_text(out, "title", MARGIN, 40, title);
}

void chart_words(FILE *out, unsigned line, const char *words)
{
    svg_text(out, "start", MARGIN, 64 + 20 * line, words);
}

/* 0 at the axis' low end, 1 at its high one. */
static double part(const struct chart_axis *a, double value)
{
    return a->is_linear ? (value - a->low) / (a->high - a->low)
                        : log(value / a->low) / log(a->high / a->low);
}

double chart_x(const struct chart *c, double value)
{
    return CHART_LEFT + part(&c->x, value) * (CHART_RIGHT - CHART_LEFT);
}

double chart_y(const struct chart *c, double value)
{
    return CHART_BOTTOM - part(&c->y, value) * (CHART_BOTTOM - CHART_TOP);
}

void chart_line(FILE *out, const char *class, double x1, double y1, double x2, double y2)
{
    fprintf(out, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", class,
            x1, y1, x2, y2);
}

void chart_mark(FILE *out, const char *class, double x, double y, double radius)
{
    fprintf(out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"%.2g\"/>\n", class, x, y,
            radius);
}

/* ---- ticks */

static void put_tick(const struct chart *c, const struct chart_axis *a, double value, double place)
{
    char text[32];
    snprintf(text, sizeof text, "%.3g%s", value * a->times, a->unit);
    if (a == &c->x) {
        chart_line(c->out, "grid", place, CHART_TOP, place, CHART_BOTTOM);
        svg_text(c->out, "middle", place, CHART_BOTTOM + 22, text);
    } else {
        chart_line(c->out, "grid", CHART_LEFT, place, CHART_RIGHT, place);
        svg_text(c->out, "end", CHART_LEFT - 10, place + 5, text);
    }
}

/* A tick where there is room beside the last one. */
static void try_tick(const struct chart *c, const struct chart_axis *a, double value, double *last)
{
    const double place = a == &c->x ? chart_x(c, value) : chart_y(c, value);
    if (value < a->low * (1 - 1e-9) || value > a->high * (1 + 1e-9) ||
        fabs(place - *last) < TICK_ROOM)
        return;
    put_tick(c, a, value, place);
    *last = place;
}

/* At these multiples of powers of ten: few on a long axis, many on a short one. */
static const double *multiples_for(const struct chart_axis *a)
{
    static const double few[] = { 1, 0 }, some[] = { 1, 2, 5, 0 },
                        many[] = { 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9, 0 };
    return a->high / a->low > 1e4 ? few : a->high / a->low > 10 ? some : many;
}

static void put_ticks(const struct chart *c, const struct chart_axis *a)
{
    double last = HUGE_VAL;
    if (a->is_linear) {
        for (double value = ceil(a->low); value <= a->high; value++)
            try_tick(c, a, value, &last);
        return;
    }
    for (double power = pow(10, floor(log10(a->low))); power <= a->high * (1 + 1e-9); power *= 10)
        for (const double *multiple = multiples_for(a); *multiple != 0; multiple++)
            try_tick(c, a, *multiple * power, &last);
}

void chart_axes(const struct chart *c)
{
    put_ticks(c, &c->x);
    put_ticks(c, &c->y);
    svg_text(c->out, "middle", (CHART_LEFT + CHART_RIGHT) / 2.0, CHART_BOTTOM + 52, c->x.label);
    svg_text(c->out, "start", MARGIN, CHART_TOP - 16, c->y.label);
}

/* ---- names */

static int by_height(const void *a, const void *b)
{
    const double x = ((const struct chart_name *)a)->y, y = ((const struct chart_name *)b)->y;
    return (x > y) - (x < y);
}

/* From above, each below the one before; then from below, back into the picture. */
static void place(struct chart_name *names, size_t count)
{
    double free_from = CHART_TOP;
    for (size_t i = 0; i < count; i++) {
        names[i].text_y = fmax(names[i].y, free_from);
        free_from = names[i].text_y + NAME_ROOM;
    }
    double free_to = CHART_BOTTOM;
    for (size_t i = count; i-- > 0;) {
        names[i].text_y = fmin(names[i].text_y, free_to);
        free_to = names[i].text_y - NAME_ROOM;
    }
}

void chart_names(FILE *out, struct chart_name *names, size_t count)
{
    qsort(names, count, sizeof names[0], by_height);
    place(names, count);
    for (size_t i = 0; i < count; i++) {
        const struct chart_name *n = &names[i];
        fprintf(out, "<polyline class=\"name\" points=\"%.1f,%.1f %d,%.1f %d,%.1f\"/>\n", n->x + 7,
                n->y, CHART_RIGHT + 5, n->y, NAMES - 6, n->text_y);
        if (n->key != NULL)
            chart_mark(out, n->key, NAMES + KEY_ROOM / 3.0, n->text_y, 5);
        svg_text(out, "name", NAMES + (n->key != NULL ? KEY_ROOM : 0), n->text_y + 5, n->text);
    }
}

void chart_end(FILE *out)
{
    fputs("</svg>\n", out);
}
