/* SPDX-License-Identifier: MIT
 * The filter of bfuniq: in memory or in a file shared by processes; growing,
 * forgetting or fixed. */
#include "bfuniq/seen.h"

#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <bloomfile_open.h>
#include <bloomfile_unstable.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "cli/cli.h"
#include "filters/messages.h"
#include "filters/opening.h"
#include "filters/params.h"
#include "filters/series.h"
#include "keys/input_type.h"

enum {
    DEFAULT_FIRST = 1000 * 1000, /* of a growing filter */
    DEFAULT_FIXED = 10 * 1000 * 1000,
    VALUE_SIZE = 32,
    WHAT_SIZE = 4200, /* includes a path */
    TRIES = 10
};
static const double default_fpr = 0.001;

static struct bloomfile_params with_defaults(const struct filter_plan *plan)
{
    struct bloomfile_params params = plan->params;
    if (params.capacity == 0)
        params.capacity = params.series == BLOOMFILE_SERIES_GROW ? DEFAULT_FIRST : DEFAULT_FIXED;
    if (params.fpr == 0)
        params.fpr = default_fpr;
    return params;
}

static _Noreturn void fail_to_make(const char *what, const struct bloomfile_params *params,
                                   int error)
{
    char why[TOO_LARGE_TEXT];
    if (error == EACCES || error == ENOENT || error == ENOTDIR || error == EROFS)
        cli_fail(error, "cannot create %s", what); /* its size does not matter */
    const bool explained = too_large_explain(params, error, why);
    cli_fail(0, "cannot create %s for %" PRIu64 " key%s: %s%s%s", what, params->capacity,
             cli_s(params->capacity), bloomfile_strerror(error), explained ? ": " : "",
             explained ? why : message_advice(error));
}

/* Returns UINT64_MAX if unknown. */
static uint64_t machine_memory(void)
{
    const long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
    return pages > 0 && size > 0 ? (uint64_t)pages * (uint64_t)size : UINT64_MAX;
}

/* Checks the size before the filter is made. Linux does not refuse memory that the machine lacks;
 * it kills programs later. `when` is "", or a description of the work done so far. */
static void check_size(uint64_t bytes, const char *when)
{
    char needed[VALUE_SIZE], present[VALUE_SIZE];
    if (bytes > machine_memory())
        cli_fail(
            0, "cannot hold %s in memory: this machine has %s%s (keep it in a file: --filter FILE)",
            cli_bytes(needed, sizeof(needed), bytes),
            cli_bytes(present, sizeof(present), machine_memory()), when);
}

static void check_plan(const struct bloomfile_params *params)
{
    const unsigned filters = params->series > 1 ? params->series : 1;
    struct bloomfile_params one = *params;
    struct bloomfile_size size;
    uint64_t bytes;
    one.fpr /= filters;
    const uint64_t bits = params_size(&one, &size) ? size.bits : 0;
    if (__builtin_mul_overflow(bits / 8, filters, &bytes))
        bytes = UINT64_MAX;
    char why[64];
    snprintf(why, sizeof(why), ", and -n %" PRIu64 " needs more", params->capacity);
    check_size(bytes, why);
}

bloomfile_filter *filter_in_memory(const struct filter_plan *plan)
{
    bloomfile_filter *f;
    const struct bloomfile_params params = with_defaults(plan);
    check_plan(&params);
    int error = bloomfile_create_memory(
        &f, &params, BLOOMFILE_OPEN_SOLE_ADDER | (plan->open_flags & BLOOMFILE_OPEN_OVER_CAPACITY));
    if (error != 0)
        fail_to_make("a filter in memory", &params, error);
    return f;
}

void filter_check_memory(const bloomfile_filter *f, uint64_t lines)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    char stopped[64] = "";
    bloomfile_get_info(f, &info);
    if (lines > 0)
        snprintf(stopped, sizeof(stopped), "; stopped after %" PRIu64 " line%s", lines,
                 cli_s(lines));
    check_size(info.image_size, stopped);
}

/* ------------------------------------------------------------------------------- contradictions */

static void compare(const char *path, const char *option, const char *made, const char *wanted)
{
    if (strcmp(made, wanted) != 0)
        cli_fail(0, "%s was made with %s %s, not %s (leave out the option, or name a new file)",
                 path, option, made, wanted);
}

static void compare_numbers(const char *path, const char *option, uint64_t made, uint64_t wanted)
{
    char is[VALUE_SIZE], should_be[VALUE_SIZE];
    snprintf(is, sizeof(is), "%" PRIu64, made);
    snprintf(should_be, sizeof(should_be), "%" PRIu64, wanted);
    compare(path, option, is, should_be);
}

static void compare_rates(const char *path, double made, double wanted)
{
    char is[VALUE_SIZE], should_be[VALUE_SIZE];
    snprintf(is, sizeof(is), "%.12g", made);
    snprintf(should_be, sizeof(should_be), "%.12g", wanted);
    compare(path, "-p", is, should_be);
}

/* The option that creates this kind of filter. */
static const char *kind_of(uint32_t series, char text[VALUE_SIZE])
{
    if (series > BLOOMFILE_SERIES_GROW)
        snprintf(text, VALUE_SIZE, "--generations %" PRIu32, series);
    else
        snprintf(text, VALUE_SIZE, "%s", series == 0 ? "--fixed" : "growing");
    return text;
}

static void compare_kinds(const char *path, uint32_t made, uint32_t wanted)
{
    char is[VALUE_SIZE], should_be[VALUE_SIZE];
    if (made != wanted)
        cli_fail(0, "%s was made as '%s', not '%s' (leave out the options, or name a new file)",
                 path, kind_of(made, is), kind_of(wanted, should_be));
}

static uint32_t series_of(const struct bloomfile_info *info)
{
    return info->layers == 0        ? 0
           : info->generations == 0 ? BLOOMFILE_SERIES_GROW
                                    : info->generations;
}

static const char *every_of(uint64_t period, uint64_t capacity, char text[VALUE_SIZE])
{
    if (period > 0)
        return period_time(text, VALUE_SIZE, period);
    snprintf(text, VALUE_SIZE, "%" PRIu64, capacity);
    return text;
}

/* Compares --every and -n. If generations are a number of keys, that number is the capacity. */
static void compare_periods(const char *path, const struct bloomfile_info *first,
                            const struct bloomfile_params *wanted)
{
    char is[VALUE_SIZE], should_be[VALUE_SIZE];
    const bool timed = first->period > 0 && wanted->period > 0;
    const bool every = first->generations > 0 && (first->period == 0 || wanted->series > 1);
    if (every && (wanted->period > 0 || wanted->capacity > 0))
        compare(path, "--every", every_of(first->period, first->capacity, is),
                every_of(wanted->period, wanted->capacity, should_be));
    if (wanted->capacity > 0 && (timed || !every))
        compare_numbers(path, "-n", first->capacity, wanted->capacity);
}

static void check(const struct filter_plan *plan, const char *path, const bloomfile_filter *f)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT, first = BLOOMFILE_INFO_INIT;
    const struct bloomfile_params *wanted = &plan->params;
    bloomfile_get_info(f, &info);
    first = info;
    if (info.layers > 0)
        bloomfile_get_info(bloomfile_layer(f, 0), &first);
    const struct bloomfile_traits *layout = bloomfile_traits_of(info.layout);
    if (layout->counts)
        cli_fail(0, "cannot use %s: it is of the %s layout, not blocked or classic", path,
                 layout->name);
    if (plan->has_kind)
        compare_kinds(path, series_of(&info), wanted->series);
    compare_periods(path, &first, wanted);
    if (wanted->fpr != 0)
        compare_rates(path, message_promised(&info), wanted->fpr);
    if (wanted->layout != 0)
        compare(path, "-l", layout->name, bloomfile_layout_name(wanted->layout));
    if (plan->has_seed)
        compare_numbers(path, "-s", info.seed, wanted->seed);
}

/* -------------------------------------------------------------------------------------- opening */

static const char *advice(int error)
{
    switch (error) {
    case BLOOMFILE_ESEALED:
        return " (name a new file to create it)";
    case BLOOMFILE_EPOISONED:
        return " (name a new file; lines seen before are then printed again)";
    case BLOOMFILE_EUNCLEAN:
        return " (to use it anyway: --accept-unclean; lost lines are then printed again)";
    default:
        return message_advice(error);
    }
}

void filter_fail(const char *what, const char *path, const struct bloomfile_open_report *report,
                 const char *remedy)
{
    char about[SERIES_TEXT];
    struct input_type_text is;
    const int error = report->error;
    if (path != NULL && series_explain(path, report, about))
        cli_fail(0, "%s: %s", what, about);
    if (path != NULL && error == BLOOMFILE_EMAGIC && input_type_describe_file(path, &is))
        cli_fail(0, "%s: %s (%s)", what, is.what, is.remedy);
    cli_fail(0, "%s: %s%s", what, bloomfile_strerror(error),
             remedy != NULL ? remedy : advice(error));
}

static _Noreturn void fail_to_use(const char *path, const struct bloomfile_open_report *report)
{
    char what[WHAT_SIZE];
    snprintf(what, sizeof(what), "cannot use %s", path);
    filter_fail(what, path, report, NULL);
}

#define ADDING (BLOOMFILE_OPEN_ADD_EXACT | BLOOMFILE_OPEN_ONE_THREAD)

/* Returns NULL if the file does not exist. */
static bloomfile_filter *open_file(const struct filter_plan *plan, const char *path)
{
    bloomfile_filter *f;
    struct bloomfile_open_report report = BLOOMFILE_OPEN_REPORT_INIT;
    const int error =
        opening_from(&f, bloomfile_from_path(path),
                     BLOOMFILE_OPEN_WRITE | ADDING | plan->open_flags, OPENING_KEYS, &report);
    if (error == ENOENT) {
        message_check_name(path);
        return NULL;
    }
    if (error != 0)
        fail_to_use(path, &report);
    check(plan, path, f);
    return f;
}

/* Returns NULL if another process has created the file by now. */
static bloomfile_filter *create_file(const struct filter_plan *plan, const char *path)
{
    bloomfile_filter *f;
    char others[SERIES_TEXT];
    const struct bloomfile_params params = with_defaults(plan);
    if (series_dangles(path))
        cli_fail(0, "cannot create %s: it is a dangling symbolic link", path);
    if (series_claims(path, others))
        cli_fail(0, "cannot create %s: %s", path, others);
    int error = bloomfile_create(&f, path, &params,
                                 ADDING | (plan->open_flags & BLOOMFILE_OPEN_OVER_CAPACITY));
    if (error == BLOOMFILE_ESERIES && series_files(path, others))
        cli_fail(
            0,
            "cannot create %s: %s exists, and later layers need that name (restore %s if it was"
            " removed, or name a new file)",
            path, others, path);
    if (error != 0 && error != EEXIST)
        fail_to_make(path, &params, error);
    return f;
}

bloomfile_filter *filter_open_or_create(const struct filter_plan *plan, const char *path)
{
    for (int tries = 0; tries < TRIES; tries++) {
        bloomfile_filter *f = open_file(plan, path);
        if (f == NULL)
            f = create_file(plan, path);
        if (f != NULL)
            return f;
    }
    cli_fail(0, "cannot use %s: it disappeared while it was opened", path);
}

/* ---- Detecting generations that ended early, from the recorded start times. */

static struct bloomfile_info info_of(const bloomfile_filter *f, size_t layer)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(bloomfile_layer(f, layer), &info);
    return info;
}

void early_generations_begin(struct early_generations *e, const bloomfile_filter *f)
{
    const size_t layers = bloomfile_layers(f);
    *e = (struct early_generations){ 0 };
    if (layers == 0)
        return;
    const struct bloomfile_info newest = info_of(f, layers - 1);
    e->watching = newest.period > 0;
    e->newest = newest.layer;
}

static void warn(const char *name, uint64_t lasted, uint64_t period)
{
    char is[32], should_be[32];
    cli_warn("%s: a generation was full after %s, not %s, so lines are forgotten sooner (to keep "
             "them longer, increase -n)",
             name, period_time(is, sizeof(is), lasted),
             period_time(should_be, sizeof(should_be), period));
}

void early_generations_watch(struct early_generations *e, const bloomfile_filter *f,
                             const char *name)
{
    if (!e->watching)
        return;
    size_t layer = bloomfile_layers(f) - 1;
    struct bloomfile_info now = info_of(f, layer);
    const uint64_t newest = now.layer;
    while (e->watching && layer > 0 && now.layer > e->newest) {
        const struct bloomfile_info before = info_of(f, --layer);
        const bool by_clock = now.began < before.began; /* the clock was set back */
        if (!by_clock && now.began - before.began < now.period) {
            warn(name, now.began - before.began, now.period);
            e->watching = false;
        }
        now = before;
    }
    e->newest = newest;
}
