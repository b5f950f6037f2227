/* SPDX-License-Identifier: MIT
 *
 * Time against rate, of filters of equal size: the lower the faster, the further left the better
 * filters.
 */
#include <inttypes.h>
#include <math.h>

#include "harness/bench.h"
#include "peers/peers.h"
#include "picture/chart.h"
#include "picture/svg.h"

#define EQUAL  1.1 /* times the size that was asked for */
#define RADIUS 6

static const char style[] = "line.floor { stroke: #b2182b; stroke-width: 1.5; "
                            "stroke-dasharray: 5 4 }\n"
                            "text.floor { fill: #b2182b }\n"
                            "circle { fill: #2166ac }\n"
                            "circle.other { fill: #fff; stroke: #d6604d; stroke-width: 2.5 }\n",
                  dark_style[] = "text.floor { fill: #f4877b }\n"
                                 "line.floor { stroke: #f4877b }\n"
                                 "circle { fill: #6cb0f0 }\n"
                                 "circle.other { fill: #161b22; stroke: #f0a070 }\n";

struct mark {
    const struct entrant *entrant;
    double rate, ns;
    bool has_batch;
};

struct picture {
    struct chart chart;
    struct mark marks[PEERS_MOST];
    size_t count;
    double floor_ns; /* NaN: not known */
};

static void add_mark(struct picture *p, const struct trial *t, const struct entrant *e)
{
    const bool has_batch = e->series[OP_BATCH_ABSENT].count > 0;
    const double ns = series_median(&e->series[has_batch ? OP_BATCH_ABSENT : OP_ONE_ABSENT]);
    if (entrant_is_limit(e) || e->is_out || isnan(ns) || e->false_hits == 0 ||
        entrant_bits_per_key(e, t) > EQUAL * t->plan.bits)
        return;
    p->marks[p->count++] = (struct mark){ e, entrant_rate(e, t), ns, has_batch };
}

static void fit_axes(struct picture *p)
{
    struct chart_axis rate = {
        "measured false-positive rate", CHART_DECADES, HUGE_VAL, 0, NULL, 100, " %"
    };
    struct chart_axis time = { "time of a lookup", CHART_DECADES, HUGE_VAL, 0, NULL, 1, " ns" };
    for (size_t i = 0; i < p->count; i++) {
        const struct mark *m = &p->marks[i];
        rate.low = fmin(rate.low, m->rate / 1.15);
        rate.high = fmax(rate.high, m->rate * 1.15);
        time.low = fmin(time.low, fmin(m->ns, p->floor_ns) / 1.4);
        time.high = fmax(time.high, m->ns * 1.4);
    }
    p->chart.x = rate;
    p->chart.y = time;
}

static void put_floor(const struct picture *p)
{
    char text[96];
    if (isnan(p->floor_ns))
        return;
    const double y = chart_y(&p->chart, p->floor_ns);
    snprintf(text, sizeof text, "a random line of memory: %.3g ns", p->floor_ns);
    chart_line(&p->chart, "floor", p->chart.left, y, p->chart.right, y);
    svg_text(p->chart.out, "floor", p->chart.left + 10, y + 18, text);
}

static struct chart_name name_of(const struct chart *c, const struct mark *m)
{
    const struct player *player = m->entrant->player;
    const char *kernel = player->kernel;
    struct chart_name n = { .x = chart_x(c, m->rate), .y = chart_y(c, m->ns) };
    snprintf(n.text, sizeof n.text, "%s%s%s%s: %.3g ns", player->name, kernel != NULL ? ", " : "",
             kernel != NULL ? kernel : "", m->has_batch ? "" : ", one by one", m->ns);
    return n;
}

static void put_marks(const struct picture *p)
{
    struct chart_name names[PEERS_MOST];
    for (size_t i = 0; i < p->count; i++)
        names[i] = name_of(&p->chart, &p->marks[i]);
    chart_names(&p->chart, names, p->count);
    for (size_t i = 0; i < p->count; i++)
        chart_mark(&p->chart, p->marks[i].entrant->player->program->has_kernels ? "ours" : "other",
                   chart_x(&p->chart, p->marks[i].rate), chart_y(&p->chart, p->marks[i].ns), RADIUS,
                   NULL);
}

static void put_head(const struct chart *c, const struct trial *t)
{
    char text[192];
    chart_start(c, "Time of a lookup against the false-positive rate", style, dark_style);
    snprintf(text, sizeof text,
             "%" PRIu64 " keys in filters of %g bits a key, %.3g MB; absent keys, in batches where "
             "there are such calls",
             t->plan.keys, t->plan.bits, (double)t->plan.keys * t->plan.bits / 8e6);
    chart_words(c, 0, text);
    chart_words(c, 1, machine_words());
}

static const struct trial *largest(const struct report *r)
{
    const struct trial *largest = &r->trials[0];
    for (unsigned i = 1; i < r->trials_count; i++)
        if (r->trials[i].plan.form == KEYS_HASHED && r->trials[i].plan.bits <= 10 &&
            r->trials[i].plan.keys >= largest->plan.keys)
            largest = &r->trials[i];
    return largest;
}

void write_plot(FILE *out, const void *report)
{
    const struct trial *t = largest(report);
    struct picture p = {
        .chart = { .out = out, .height = 600, .left = 90, .right = 600, .top = 126, .bottom = 526 },
        .floor_ns = NAN,
    };
    const struct entrant *floor = trial_best(t, "random lines", NULL, OP_BATCH_ABSENT);
    if (floor != NULL)
        p.floor_ns = series_median(&floor->series[OP_BATCH_ABSENT]);
    for (unsigned i = 0; i < t->count; i++)
        add_mark(&p, t, &t->entrants[i]);
    put_head(&p.chart, t);
    if (p.count > 0) {
        fit_axes(&p);
        chart_axes(&p.chart);
        put_floor(&p);
        put_marks(&p);
    }
    chart_end(&p.chart);
}
