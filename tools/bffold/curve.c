/* SPDX-License-Identifier: MIT
 * The curve of rate against size, as SVG. */
#include "bffold/fold.h"
#include "picture/svg.h"
#include "shared/cli.h"
#include "shared/text.h"

#include <bloomfile_combine.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    WIDTH = 960,
    HEIGHT = 680,
    LEFT = 110,
    RIGHT = 920,
    TOP = 104,
    BOTTOM = 540,
    RATE_TICKS = 10,
    SIZE_TICKS = 8,
    SHORT = 64,
};

/* The ends of the axes, as logarithms: of the rate to the base 10, of the size to the base 2. */
struct axes {
    double rate_low, rate_high;
    double size_low, size_high;
};

typedef double rate_of(const struct bloomfile_fold_choice *c);

static double rate_now(const struct bloomfile_fold_choice *c)
{
    return c->fpr;
}

static double rate_with_more(const struct bloomfile_fold_choice *c)
{
    return c->fpr_more;
}

static bool is_shown(const struct fold_plan *p, size_t i)
{
    return i < fold_shown(p) || i == p->chosen;
}

static double place_of_size(const struct axes *a, uint64_t bytes)
{
    double part = (log2((double)bytes) - a->size_low) / (a->size_high - a->size_low);
    return LEFT + part * (RIGHT - LEFT);
}

static double place_of_rate(const struct axes *a, double rate)
{
    double part = (log10(rate) - a->rate_low) / (a->rate_high - a->rate_low);
    return BOTTOM - part * (BOTTOM - TOP);
}

/* A rate of 0 has no place on a logarithmic axis. */
static struct axes fit_axes(const struct fold_plan *p)
{
    double least = p->target > 0 ? p->target : 1, smallest = DBL_MAX, greatest = 0;
    for (size_t i = 0; i < p->count; i++) {
        const struct bloomfile_fold_choice *c = &p->choices[i];
        if (!is_shown(p, i))
            continue;
        least = c->fpr > 0 ? fmin(least, c->fpr) : least;
        least = c->fpr_more > 0 ? fmin(least, c->fpr_more) : least;
        smallest = fmin(smallest, (double)c->image_size);
        greatest = fmax(greatest, (double)c->image_size);
    }
    struct axes a = { .rate_low = floor(log10(least * 0.8)), .rate_high = 0 };
    bool any = greatest > 0;
    a.size_low = any ? floor(log2(smallest)) : 12;
    a.size_high = any ? ceil(log2(greatest * 1.01)) : 13;
    return a;
}

static void put_style(FILE *out)
{
    fputs("line { stroke: #ddd; stroke-width: 1 }\n"
          "polyline { fill: none; stroke-width: 2 }\n"
          ".rate { stroke: #2166ac }\n"
          ".more { stroke: #999; stroke-dasharray: 6 4 }\n"
          ".target { stroke: #b2182b; stroke-dasharray: 2 3 }\n"
          "circle { fill: #2166ac }\n"
          "circle.chosen, circle.mark { fill: #fff; stroke: #b2182b; stroke-width: 3 }\n"
          "text.strong { font-weight: bold }\n",
          out);
    svg_start_dark(out);
    fputs("line { stroke: #3a3c40 }\n"
          ".rate { stroke: #6cb6ff }\n"
          ".more { stroke: #888 }\n"
          ".target { stroke: #ff7b72 }\n"
          "circle { fill: #6cb6ff }\n"
          "circle.chosen, circle.mark { fill: #161b22; stroke: #ff7b72 }\n",
          out);
}

static void put_stroke(FILE *out, const char *class, double x1, double y1, double x2, double y2)
{
    fprintf(out,
            "<line class=\"%s\" x1=\"%.1f\" y1=\"%.1f\" x2=\"%.1f\" y2=\"%.1f\" fill=\"none\"/>\n",
            class, x1, y1, x2, y2);
}

/* The distance between marks, in whole powers, that makes at most so many. */
static double step(double low, double high, unsigned most)
{
    return fmax(1, ceil((high - low) / most));
}

static void put_axes(FILE *out, const struct axes *a)
{
    char text[SHORT];
    double every = step(a->rate_low, a->rate_high, RATE_TICKS);
    for (double power = a->rate_high; power >= a->rate_low; power -= every) {
        double y = place_of_rate(a, pow(10, power));
        put_stroke(out, "grid", LEFT, y, RIGHT, y);
        svg_text(out, "end", LEFT - 10, y + 5, cli_percent(text, sizeof(text), pow(10, power)));
    }
    every = step(a->size_low, a->size_high, SIZE_TICKS);
    for (double power = a->size_low; power <= a->size_high; power += every) {
        double x = LEFT + (power - a->size_low) / (a->size_high - a->size_low) * (RIGHT - LEFT);
        put_stroke(out, "grid", x, TOP, x, BOTTOM);
        svg_text(out, "middle", x, BOTTOM + 24,
                 cli_bytes(text, sizeof(text), (uint64_t)exp2(power)));
    }
    svg_text(out, "middle", (LEFT + RIGHT) / 2.0, BOTTOM + 52, "size of the file");
    svg_text(out, "start", 24, TOP - 12, "false-positive rate");
}

static void put_curve(FILE *out, const struct fold_plan *p, const struct axes *a, const char *class,
                      rate_of *rate)
{
    fprintf(out, "<polyline class=\"%s\" points=\"", class);
    for (size_t i = 0; i < p->count; i++) {
        const struct bloomfile_fold_choice *c = &p->choices[i];
        if (is_shown(p, i) && rate(c) > 0)
            fprintf(out, "%.1f,%.1f ", place_of_size(a, c->image_size), place_of_rate(a, rate(c)));
    }
    fputs("\"/>\n", out);
}

static void put_points(FILE *out, const struct fold_plan *p, const struct axes *a)
{
    char rate[SHORT];
    for (size_t i = 0; i < p->count; i++) {
        const struct bloomfile_fold_choice *c = &p->choices[i];
        if (is_shown(p, i) && c->fpr > 0)
            fprintf(out,
                    "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"3\"><title>factor %" PRIu64
                    ": %s</title></circle>\n",
                    place_of_size(a, c->image_size), place_of_rate(a, c->fpr), c->factor,
                    cli_percent(rate, sizeof(rate), c->fpr));
    }
}

/* What it is stands below with the legend, where no curve can cross it. */
static void put_chosen(FILE *out, const struct fold_plan *p, const struct axes *a)
{
    char text[4 * SHORT], size[SHORT], rate[SHORT];
    const double row = HEIGHT - 56;
    if (p->chosen == p->count)
        return;
    const struct bloomfile_fold_choice *c = &p->choices[p->chosen];
    double x = place_of_size(a, c->image_size);
    double y = c->fpr > 0 ? place_of_rate(a, c->fpr) : BOTTOM;
    snprintf(text, sizeof(text), "factor %" PRIu64 ": %s, rate %s", c->factor,
             cli_bytes(size, sizeof(size), c->image_size), cli_percent(rate, sizeof(rate), c->fpr));
    fprintf(out, "<circle class=\"chosen\" cx=\"%.1f\" cy=\"%.1f\" r=\"6\"/>\n", x, y);
    fprintf(out, "<circle class=\"mark\" cx=\"%d\" cy=\"%.1f\" r=\"6\"/>\n", LEFT + 15, row - 5);
    svg_text(out, "strong", LEFT + 40, row, text);
}

static void put_legend(FILE *out, const struct fold_plan *p)
{
    char more[SHORT], rate[SHORT], target[2 * SHORT];
    snprintf(more, sizeof(more), "with %" PRIu64 " more key%s", p->more, cli_s(p->more));
    snprintf(target, sizeof(target), "%s %s", cli_percent(rate, sizeof(rate), p->target),
             p->wanted);
    const struct {
        const char *class, *text;
    } rows[] = { { "rate", "of the bits, exactly" }, { "more", more }, { "target", target } };
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        double x = LEFT + 280.0 * i, y = HEIGHT - 24;
        put_stroke(out, rows[i].class, x, y - 5, x + 30, y - 5);
        svg_text(out, "start", x + 40, y, rows[i].text);
    }
}

static void put_title(FILE *out, const struct fold_plan *p)
{
    char caption[4 * SHORT];
    const char *slash = strrchr(p->path, '/');
    const char *base = slash != NULL && slash[1] != '\0' ? slash + 1 : p->path;
    char *title = text_safe(base, strlen(base), true);
    snprintf(caption, sizeof(caption), "%" PRIu64 " key%s, %" PRIu64 " %s, k = %" PRIu32, p->keys,
             cli_s(p->keys), fold_units(p), fold_unit(p), p->info.hashes);
    svg_start(out, WIDTH, HEIGHT, title);
    put_style(out);
    svg_start_picture(out, WIDTH, HEIGHT);
    svg_text(out, "title", 24, 40, title);
    svg_text(out, "start", 24, 64, caption);
    free(title);
}

static void put_svg(FILE *out, const struct fold_plan *p)
{
    struct axes a = fit_axes(p);
    put_title(out, p);
    put_axes(out, &a);
    if (p->target > 0)
        put_stroke(out, "target", LEFT, place_of_rate(&a, p->target), RIGHT,
                   place_of_rate(&a, p->target));
    put_curve(out, p, &a, "more", rate_with_more);
    put_curve(out, p, &a, "rate", rate_now);
    put_points(out, p, &a);
    put_chosen(out, p, &a);
    put_legend(out, p);
    fputs("</svg>\n", out);
}

char *fold_curve(const struct fold_plan *p, size_t *size)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, size);
    if (out == NULL)
        return NULL;
    put_svg(out, p);
    bool failed = ferror(out) != 0;
    if (fclose(out) != 0 || failed) {
        free(text);
        return NULL;
    }
    return text;
}
