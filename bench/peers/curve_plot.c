/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>

#include "peers/curve.h"
#include "picture/chart.h"

#define AT 10 /* bits a key: the rate that is told beside a name */

static const char style[] = "polyline.ideal { stroke: #888; stroke-dasharray: 5 4 }\n"
                            "circle { stroke-width: 2; fill: none }\n"
                            ".c0 { stroke: #2b7bba }\n"
                            ".c1 { stroke: #1f9e77 }\n"
                            ".c2 { stroke: #8a6fc9 }\n"
                            ".c3 { stroke: #d9543c }\n"
                            ".c4 { stroke: #c98a1a }\n"
                            ".c5 { stroke: #c0508f }\n"
                            "circle.c0 { fill: #2b7bba }\n"
                            "circle.c1 { fill: #1f9e77 }\n";

/* Those of bloomfile are small and full, and come first: others are rings around them. */
static const char *const classes[CURVES_MOST] = { "c0", "c1", "c2", "c3", "c4", "c5" };

static double radius_of(const struct curve *curve)
{
    return curve->player->program->has_kernels ? 2.5 : 5;
}

static void put_curve(const struct chart *c, const struct curve *curve, const char *class)
{
    chart_curve_start(c, class);
    for (unsigned i = 0; i < CURVE_POINTS; i++)
        chart_curve_point(c, curve->bits[i], curve->rate[i]);
    chart_curve_end(c);
    for (unsigned i = 0; i < CURVE_POINTS; i++)
        if (!isnan(curve->rate[i]))
            chart_mark(c, class, chart_x(c, curve->bits[i]), chart_y(c, curve->rate[i]),
                       radius_of(curve), NULL);
}

static void put_ideal(const struct chart *c)
{
    chart_curve_start(c, "ideal");
    for (unsigned bits = CURVE_FEWEST; bits <= CURVE_MOST; bits += CURVE_MOST - CURVE_FEWEST)
        chart_curve_point(c, bits, curve_ideal(bits));
    chart_curve_end(c);
}

/* Beside its last point. */
static struct chart_name name_of(const struct chart *c, const struct curve *curve,
                                 const char *class)
{
    const unsigned at = (AT - CURVE_FEWEST) / CURVE_STEP;
    struct chart_name n = { .x = c->left, .y = c->bottom, .key = class };
    for (unsigned i = 0; i < CURVE_POINTS; i++)
        if (!isnan(curve->rate[i])) {
            n.x = chart_x(c, curve->bits[i]);
            n.y = chart_y(c, curve->rate[i]);
        }
    snprintf(n.text, sizeof n.text, "%s %s: %.3g %%", curve->player->name, curve->player->version,
             100 * curve->rate[at]);
    return n;
}

static void put_names(const struct chart *c, const struct curves *curves)
{
    struct chart_name names[CURVES_MOST + 1];
    for (unsigned i = 0; i < curves->count; i++)
        names[i] = name_of(c, &curves->of[i], classes[i]);
    struct chart_name *ideal = &names[curves->count];
    *ideal = (struct chart_name){ .x = chart_x(c, CURVE_MOST),
                                  .y = chart_y(c, curve_ideal(CURVE_MOST)) };
    snprintf(ideal->text, sizeof ideal->text, "theory, independent bits: %.3g %%",
             100 * curve_ideal(AT));
    chart_names(c, names, curves->count + 1);
}

static double lowest_rate(const struct curves *curves)
{
    double low = curve_ideal(CURVE_MOST);
    for (unsigned i = 0; i < curves->count; i++)
        for (unsigned j = 0; j < CURVE_POINTS; j++)
            low = fmin(low, curves->of[i].rate[j]);
    return low;
}

void write_curves(FILE *out, const void *what)
{
    const struct curves *curves = what;
    const struct chart c = {
        .out = out,
        .height = 600,
        .left = 90,
        .right = 600,
        .top = 126,
        .bottom = 526,
        .x = { "size of the filter, bits a key", CHART_LINEAR, CURVE_FEWEST, CURVE_MOST, NULL, 1,
               "" },
        .y = { "false-positive rate", CHART_DECADES, lowest_rate(curves) / 1.2, 0.25, NULL, 100,
               " %" },
    };
    char text[160];
    chart_start(&c, "False-positive rate against size", style, "");
    snprintf(text, sizeof text,
             "measured: %" PRIu64 " keys in each filter, absent keys until %" PRIu64
             " were taken for present, or %" PRIu64 " million",
             curves->keys, curves->hits, curves->lookups / 1000000);
    chart_words(&c, 0, text);
    snprintf(text, sizeof text, "beside each name: the rate at %d bits a key", AT);
    chart_words(&c, 1, text);
    chart_axes(&c);
    put_ideal(&c);
    for (unsigned i = 0; i < curves->count; i++)
        put_curve(&c, &curves->of[i], classes[i]);
    put_names(&c, curves);
    chart_end(&c);
}
