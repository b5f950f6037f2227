/* SPDX-License-Identifier: MIT
 * The curve of rate against size, as SVG. */
#include "bffold/fold.h"
#include "cli/cli.h"
#include "cli/text.h"
#include "picture/chart.h"
#include "picture/svg.h"

#include <bloomfile_combine.h>
#include <float.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define SHORT 64

static const char style[] =
    "polyline { stroke-width: 2 }\n"
    ".rate { stroke: #2166ac }\n"
    ".more { stroke: #999; stroke-dasharray: 6 4 }\n"
    ".target { stroke: #b2182b; stroke-dasharray: 2 3 }\n"
    "circle { fill: #2166ac }\n"
    "circle.chosen, circle.mark { fill: #fff; stroke: #b2182b; stroke-width: 3 }\n"
    "text.strong { font-weight: bold }\n";
static const char dark_style[] = ".rate { stroke: #6cb6ff }\n"
                                 ".more { stroke: #888 }\n"
                                 ".target { stroke: #ff7b72 }\n"
                                 "circle { fill: #6cb6ff }\n"
                                 "circle.chosen, circle.mark { fill: #161b22; stroke: #ff7b72 }\n";

static char *size_text(char *text, size_t size, double bytes)
{
    return cli_bytes(text, size, (uint64_t)bytes);
}

static bool is_shown(const struct fold_plan *p, size_t i)
{
    return i < fold_shown(p) || i == p->chosen;
}

/* Fits the axes to whole powers. A rate of 0 has no place on a logarithmic axis. */
static void fit_axes(struct chart *c, const struct fold_plan *p)
{
    double least = p->target > 0 ? p->target : 1, smallest = DBL_MAX, greatest = 0;
    for (size_t i = 0; i < p->count; i++) {
        const struct bloomfile_fold_choice *choice = &p->choices[i];
        if (!is_shown(p, i))
            continue;
        least = choice->fpr > 0 ? fmin(least, choice->fpr) : least;
        least = choice->fpr_more > 0 ? fmin(least, choice->fpr_more) : least;
        smallest = fmin(smallest, (double)choice->image_size);
        greatest = fmax(greatest, (double)choice->image_size);
    }
    const bool any = greatest > 0;
    c->y = (struct chart_axis){ .label = "false-positive rate",
                                .scale = CHART_DECADES,
                                .low = pow(10, floor(log10(least * 0.8))),
                                .high = 1,
                                .text = cli_percent };
    c->x = (struct chart_axis){ .label = "size of the file",
                                .scale = CHART_DOUBLINGS,
                                .low = any ? exp2(floor(log2(smallest))) : 4096,
                                .high = any ? exp2(ceil(log2(greatest * 1.01))) : 8192,
                                .text = size_text };
}

static void put_curve(const struct chart *c, const struct fold_plan *p, const char *class,
                      bool with_more)
{
    chart_curve_start(c, class);
    for (size_t i = 0; i < p->count; i++)
        if (is_shown(p, i))
            chart_curve_point(c, (double)p->choices[i].image_size,
                              with_more ? p->choices[i].fpr_more : p->choices[i].fpr);
    chart_curve_end(c);
}

static void put_points(const struct chart *c, const struct fold_plan *p)
{
    char rate[SHORT], title[2 * SHORT];
    for (size_t i = 0; i < p->count; i++) {
        const struct bloomfile_fold_choice *choice = &p->choices[i];
        if (!is_shown(p, i) || choice->fpr <= 0)
            continue;
        snprintf(title, sizeof(title), "factor %" PRIu64 ": %s", choice->factor,
                 cli_percent(rate, sizeof(rate), choice->fpr));
        chart_mark(c, NULL, chart_x(c, (double)choice->image_size), chart_y(c, choice->fpr), 3,
                   title);
    }
}

/* Marks the chosen factor. Its text is below, with the legend, where no curve can cross it. */
static void put_chosen(const struct chart *c, const struct fold_plan *p)
{
    char text[4 * SHORT], size[SHORT], rate[SHORT];
    const double row = c->height - 56;
    if (p->chosen == p->count)
        return;
    const struct bloomfile_fold_choice *choice = &p->choices[p->chosen];
    const double y = choice->fpr > 0 ? chart_y(c, choice->fpr) : c->bottom;
    snprintf(text, sizeof(text), "factor %" PRIu64 ": %s, rate %s", choice->factor,
             cli_bytes(size, sizeof(size), choice->image_size),
             cli_percent(rate, sizeof(rate), choice->fpr));
    chart_mark(c, "chosen", chart_x(c, (double)choice->image_size), y, 6, NULL);
    chart_mark(c, "mark", c->left + 15, row - 5, 6, NULL);
    svg_text(c->out, "strong", c->left + 40, row, text);
}

static void put_legend(const struct chart *c, const struct fold_plan *p)
{
    char more[SHORT], rate[SHORT], target[2 * SHORT];
    snprintf(more, sizeof(more), "with %" PRIu64 " more key%s", p->more, cli_s(p->more));
    snprintf(target, sizeof(target), "%s %s", p->wanted,
             cli_percent(rate, sizeof(rate), p->target));
    const struct {
        const char *class, *text;
    } rows[] = { { "rate", "of the bits, exactly" }, { "more", more }, { "target", target } };
    for (unsigned i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
        double x = c->left + 280.0 * i, y = c->height - 24;
        chart_line(c, rows[i].class, x, y - 5, x + 30, y - 5);
        svg_text(c->out, "start", x + 40, y, rows[i].text);
    }
}

static void put_title(const struct chart *c, const struct fold_plan *p)
{
    char caption[4 * SHORT];
    const char *slash = strrchr(p->path, '/');
    const char *base = slash != NULL && slash[1] != '\0' ? slash + 1 : p->path;
    char *title = text_safe(base, strlen(base), true);
    snprintf(caption, sizeof(caption), "%" PRIu64 " key%s, %" PRIu64 " %s%s, k = %" PRIu32, p->keys,
             cli_s(p->keys), fold_units(p), fold_unit(p), cli_s(fold_units(p)), p->info.hashes);
    chart_start(c, title, style, dark_style);
    chart_words(c, 0, caption);
    free(title);
}

static void put_svg(FILE *out, const struct fold_plan *p)
{
    struct chart c = {
        .out = out, .height = 680, .left = 110, .right = 920, .top = 104, .bottom = 540
    };
    fit_axes(&c, p);
    put_title(&c, p);
    chart_axes(&c);
    if (p->target > 0)
        chart_line(&c, "target", c.left, chart_y(&c, p->target), c.right, chart_y(&c, p->target));
    put_curve(&c, p, "more", true);
    put_curve(&c, p, "rate", false);
    put_points(&c, p);
    put_chosen(&c, p);
    put_legend(&c, p);
    chart_end(&c);
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
