/* SPDX-License-Identifier: MIT
 *
 * bench-chart - draws a chart, as JSON on standard input, as an SVG image
 *
 *     {"title": "", "style": "CSS", "dark_style": "CSS", "words": ["", ""], "x": {...}, "y": {...},
 *      "curves": [{"class": "", "points": [[x, y], ...]}],
 *      "levels": [{"class": "", "y": 1, "text": ""}],
 *      "marks": [{"x": 1, "y": 1, "class": "", "radius": 1, "name": "", "key": true}]}
 *
 * An axis: {"label": "", "low": 1, "high": 2, "times": 100, "unit": " %"}, and "linear" or
 * "doublings", if it is to have other ticks than decades. A value is shown `times` as large.
 *
 * A mark without a class is not drawn, but its name is; one without a name is only drawn. `key`: a
 * mark like it stands before the name.
 */
#include "picture/chart.h"

#include <json-c/json.h>
#include <stdbool.h>
#include <stdlib.h>

#include "harness/bench.h"
#include "picture/svg.h"

#define LONGEST ((size_t)1 << 22)

static json_object *member(json_object *of, const char *name)
{
    return json_object_object_get(of, name);
}

static const char *text_of(json_object *of, const char *name)
{
    json_object *text = member(of, name);
    return text == NULL ? NULL : json_object_get_string(text);
}

static double number_of(json_object *of, const char *name)
{
    return json_object_get_double(member(of, name));
}

/* bench_fail() unless there is an axis on which ticks can be found. */
static struct chart_axis axis_of(json_object *chart, const char *name)
{
    json_object *a = member(chart, name);
    const struct chart_axis axis = {
        .label = text_of(a, "label"),
        .scale = json_object_get_boolean(member(a, "linear"))      ? CHART_LINEAR
                 : json_object_get_boolean(member(a, "doublings")) ? CHART_DOUBLINGS
                                                                   : CHART_DECADES,
        .low = number_of(a, "low"),
        .high = number_of(a, "high"),
        .times = number_of(a, "times"),
        .unit = text_of(a, "unit"),
    };
    if (axis.label == NULL || axis.unit == NULL || !(axis.low > 0 && axis.low < axis.high))
        bench_fail(0, "draw an axis that has no label, no unit or no length");
    return axis;
}

static size_t length_of(json_object *array)
{
    return array == NULL ? 0 : json_object_array_length(array);
}

static void put_curves(const struct chart *c, json_object *curves)
{
    for (size_t i = 0; i < length_of(curves); i++) {
        json_object *curve = json_object_array_get_idx(curves, i),
                    *points = member(curve, "points");
        chart_curve_start(c, text_of(curve, "class"));
        for (size_t j = 0; j < length_of(points); j++) {
            json_object *point = json_object_array_get_idx(points, j);
            chart_curve_point(c, json_object_get_double(json_object_array_get_idx(point, 0)),
                              json_object_get_double(json_object_array_get_idx(point, 1)));
        }
        chart_curve_end(c);
    }
}

static void put_levels(const struct chart *c, json_object *levels)
{
    for (size_t i = 0; i < length_of(levels); i++) {
        json_object *level = json_object_array_get_idx(levels, i);
        const double y = chart_y(c, number_of(level, "y"));
        chart_line(c, text_of(level, "class"), c->left, y, c->right, y);
        svg_text(c->out, text_of(level, "class"), c->left + 10, y + 18, text_of(level, "text"));
    }
}

/* The names are below the marks. */
static void put_marks(const struct chart *c, json_object *marks)
{
    struct chart_name *names = bench_memory(calloc(length_of(marks) + 1, sizeof *names));
    size_t count = 0;
    for (size_t i = 0; i < length_of(marks); i++) {
        json_object *mark = json_object_array_get_idx(marks, i);
        const bool has_key = json_object_get_boolean(member(mark, "key"));
        if (text_of(mark, "name") == NULL)
            continue;
        names[count] = (struct chart_name){ .x = chart_x(c, number_of(mark, "x")),
                                            .y = chart_y(c, number_of(mark, "y")),
                                            .key = has_key ? text_of(mark, "class") : NULL };
        snprintf(names[count].text, sizeof names[count].text, "%s", text_of(mark, "name"));
        count++;
    }
    chart_names(c, names, count);
    free(names);
    for (size_t i = 0; i < length_of(marks); i++) {
        json_object *mark = json_object_array_get_idx(marks, i);
        if (text_of(mark, "class") != NULL)
            chart_mark(c, text_of(mark, "class"), chart_x(c, number_of(mark, "x")),
                       chart_y(c, number_of(mark, "y")), number_of(mark, "radius"), NULL);
    }
}

int main(void)
{
    char *text = bench_memory(calloc(1, LONGEST));
    if (fread(text, 1, LONGEST, stdin) == LONGEST)
        bench_fail(0, "draw so long a chart");
    json_object *chart = json_tokener_parse(text);
    if (member(chart, "title") == NULL || member(chart, "x") == NULL || member(chart, "y") == NULL)
        bench_fail(0, "find a chart in standard input");
    const struct chart c = {
        .out = stdout,
        .height = 600,
        .left = 90,
        .right = 600,
        .top = 126,
        .bottom = 526,
        .x = axis_of(chart, "x"),
        .y = axis_of(chart, "y"),
    };
    json_object *words = member(chart, "words");
    chart_start(&c, text_of(chart, "title"), text_of(chart, "style"), text_of(chart, "dark_style"));
    for (size_t i = 0; i < length_of(words); i++)
        chart_words(&c, (unsigned)i, json_object_get_string(json_object_array_get_idx(words, i)));
    chart_axes(&c);
    put_levels(&c, member(chart, "levels"));
    put_curves(&c, member(chart, "curves"));
    put_marks(&c, member(chart, "marks"));
    chart_end(&c);
    json_object_put(chart);
    free(text);
    bench_flush();
    return 0;
}
