/* SPDX-License-Identifier: MIT
 *
 * Time against rate, of filters of equal size: the lower the faster, the further left the better
 * filters. Names stand in a column, each on a level with its mark if there is room.
 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "bench.h"
#include "peers.h"
#include "svg.h"

enum {
    WIDTH = 960,
    HEIGHT = 600,
    LEFT = 90,
    RIGHT = 600,
    TOP = 110,
    BOTTOM = 510,
    NAMES = 640,
    LINE = 21,
    TICK_ROOM = 48,
    SHORT = 96,
};

#define EQUAL 1.1 /* times the size that was asked for */

struct mark {
    double rate, ns;
    double x, y, name_y;
    bool ours;
    char name[SHORT];
};

struct picture {
    struct mark marks[PEERS_MOST];
    size_t count;
    double floor_ns; /* NaN: not known */
    double rate_low, rate_high, ns_low, ns_high;
};

static double part(double value, double low, double high)
{
    return log(value / low) / log(high / low);
}

static double place_of_rate(const struct picture *p, double rate)
{
    return LEFT + part(rate, p->rate_low, p->rate_high) * (RIGHT - LEFT);
}

static double place_of_time(const struct picture *p, double ns)
{
    return BOTTOM - part(ns, p->ns_low, p->ns_high) * (BOTTOM - TOP);
}

static void add_mark(struct picture *p, const struct trial *t, const struct entrant *e)
{
    const bool has_batch = e->series[OP_BATCH_ABSENT].count > 0;
    const double ns = series_median(&e->series[has_batch ? OP_BATCH_ABSENT : OP_ONE_ABSENT]);
    if (entrant_is_limit(e) || e->is_out || isnan(ns) || e->false_hits == 0 ||
        entrant_bits_per_key(e, t) > EQUAL * t->plan.bits)
        return;
    struct mark *m = &p->marks[p->count++];
    const char *kernel = e->player->kernel;
    *m = (struct mark){ .rate = entrant_rate(e, t),
                        .ns = ns,
                        .ours = e->player->program->has_kernels };
    snprintf(m->name, sizeof m->name, "%s%s%s%s: %.3g ns", e->player->name,
             kernel != NULL ? ", " : "", kernel != NULL ? kernel : "",
             has_batch ? "" : ", one by one", ns);
}

static void fit_axes(struct picture *p)
{
    p->rate_low = p->ns_low = HUGE_VAL;
    for (size_t i = 0; i < p->count; i++) {
        p->rate_low = fmin(p->rate_low, p->marks[i].rate / 1.15);
        p->rate_high = fmax(p->rate_high, p->marks[i].rate * 1.15);
        p->ns_low = fmin(p->ns_low, fmin(p->marks[i].ns, p->floor_ns) / 1.4);
        p->ns_high = fmax(p->ns_high, p->marks[i].ns * 1.4);
    }
    for (size_t i = 0; i < p->count; i++) {
        p->marks[i].x = place_of_rate(p, p->marks[i].rate);
        p->marks[i].y = place_of_time(p, p->marks[i].ns);
    }
}

static int by_height(const void *a, const void *b)
{
    const double x = ((const struct mark *)a)->y, y = ((const struct mark *)b)->y;
    return (x > y) - (x < y);
}

/* From above, each below the one before; then from below, back into the picture. */
static void place_names(struct picture *p)
{
    double free_from = TOP;
    qsort(p->marks, p->count, sizeof p->marks[0], by_height);
    for (size_t i = 0; i < p->count; i++) {
        p->marks[i].name_y = fmax(p->marks[i].y, free_from);
        free_from = p->marks[i].name_y + LINE;
    }
    double free_to = BOTTOM;
    for (size_t i = p->count; i-- > 0;) {
        p->marks[i].name_y = fmin(p->marks[i].name_y, free_to);
        free_to = p->marks[i].name_y - LINE;
    }
}

static void put_style(FILE *out)
{
    fputs("rect { fill: #fff }\n"
          "line { stroke: #ddd; stroke-width: 1 }\n"
          "line.floor { stroke: #b2182b; stroke-width: 1.5; stroke-dasharray: 5 4 }\n"
          "text.floor { fill: #b2182b }\n"
          "polyline { fill: none; stroke: #aaa; stroke-width: 1 }\n"
          "circle { fill: #2166ac }\n"
          "circle.other { fill: #fff; stroke: #d6604d; stroke-width: 2.5 }\n"
          "@media (prefers-color-scheme: dark) {\n"
          "rect { fill: #161b22 }\n"
          "text { fill: #ccc }\n"
          "text.title { fill: #eee }\n"
          "text.floor { fill: #f4877b }\n"
          "line { stroke: #3a3f47 }\n"
          "line.floor { stroke: #f4877b }\n"
          "polyline { stroke: #6a7079 }\n"
          "circle { fill: #6cb0f0 }\n"
          "circle.other { fill: #161b22; stroke: #f0a070 }\n"
          "}\n",
          out);
}

static void put_line(FILE *out, const char *class, double x1, double y1, double x2, double y2)
{
    fprintf(out, "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\"/>\n", class,
            x1, y1, x2, y2);
}

/* Ticks at these multiples of powers of ten: few on a long axis, many on a short one. */
static const double *ticks_for(double low, double high)
{
    static const double few[] = { 1, 0 }, some[] = { 1, 2, 5, 0 },
                        many[] = { 1, 1.2, 1.5, 2, 2.5, 3, 4, 5, 6, 7, 8, 9, 0 };
    return high / low > 1e4 ? few : high / low > 10 ? some : many;
}

static void put_tick(FILE *out, bool is_rate, double place, double value)
{
    char text[SHORT];
    snprintf(text, sizeof text, is_rate ? "%.3g %%" : "%.3g ns", is_rate ? 100 * value : value);
    if (is_rate) {
        put_line(out, "grid", place, TOP, place, BOTTOM);
        svg_text(out, "middle", place, BOTTOM + 22, text);
    } else {
        put_line(out, "grid", LEFT, place, RIGHT, place);
        svg_text(out, "end", LEFT - 10, place + 5, text);
    }
}

static void put_ticks(FILE *out, const struct picture *p, bool are_rates)
{
    const double low = are_rates ? p->rate_low : p->ns_low;
    const double high = are_rates ? p->rate_high : p->ns_high;
    double last = HUGE_VAL;
    for (double power = pow(10, floor(log10(low))); power <= high; power *= 10)
        for (const double *tick = ticks_for(low, high); *tick != 0; tick++) {
            const double value = *tick * power;
            const double place = are_rates ? place_of_rate(p, value) : place_of_time(p, value);
            if (value < low || value > high || fabs(place - last) < TICK_ROOM)
                continue;
            put_tick(out, are_rates, place, value);
            last = place;
        }
}

static void put_floor(FILE *out, const struct picture *p)
{
    char text[SHORT];
    if (isnan(p->floor_ns))
        return;
    const double y = place_of_time(p, p->floor_ns);
    snprintf(text, sizeof text, "a random line of memory: %.3g ns", p->floor_ns);
    put_line(out, "floor", LEFT, y, RIGHT, y);
    svg_text(out, "floor", LEFT + 10, y + 18, text);
}

static void put_marks(FILE *out, const struct picture *p)
{
    for (size_t i = 0; i < p->count; i++) {
        const struct mark *m = &p->marks[i];
        fprintf(out, "<polyline points=\"%.1f,%.1f %d,%.1f %d,%.1f\"/>\n", m->x + 7, m->y,
                RIGHT + 5, m->y, NAMES - 6, m->name_y);
        svg_text(out, "name", NAMES, m->name_y + 5, m->name);
    }
    for (size_t i = 0; i < p->count; i++)
        fprintf(out, "<circle class=\"%s\" cx=\"%.1f\" cy=\"%.1f\" r=\"6\"/>\n",
                p->marks[i].ours ? "ours" : "other", p->marks[i].x, p->marks[i].y);
}

static void put_head(FILE *out, const struct trial *t)
{
    char text[2 * SHORT];
    svg_start(out, WIDTH, HEIGHT, "Time against false-positive rate");
    put_style(out);
    svg_start_picture(out, WIDTH, HEIGHT);
    svg_text(out, "title", 24, 40, "Time of a lookup against the false-positive rate");
    snprintf(text, sizeof text,
             "%" PRIu64 " keys in filters of %g bits a key, %.3g MB; absent keys, in batches where "
             "there are such calls",
             t->plan.keys, t->plan.bits, (double)t->plan.keys * t->plan.bits / 8e6);
    svg_text(out, "start", 24, 64, text);
    svg_text(out, "start", 24, 84, machine_words());
}

void write_plot(FILE *out, const struct trial *t)
{
    struct picture p = { .floor_ns = NAN };
    const struct entrant *floor = trial_best(t, "random lines", NULL, OP_BATCH_ABSENT);
    if (floor != NULL)
        p.floor_ns = series_median(&floor->series[OP_BATCH_ABSENT]);
    for (unsigned i = 0; i < t->count; i++)
        add_mark(&p, t, &t->entrants[i]);
    put_head(out, t);
    if (p.count > 0) {
        fit_axes(&p);
        place_names(&p);
        put_ticks(out, &p, true);
        put_ticks(out, &p, false);
        put_floor(out, &p);
        put_marks(out, &p);
    }
    svg_text(out, "middle", (LEFT + RIGHT) / 2.0, BOTTOM + 52, "measured false-positive rate");
    fputs("</svg>\n", out);
}
