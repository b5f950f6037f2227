/* SPDX-License-Identifier: MIT
 * One filter: in memory, in a file, shared by processes. */
#include "bfuniq/filter.h"
#include "shared/cli.h"
#include "shared/say.h"
#include "shared/target.h"

#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

enum {
    DEFAULT_CAPACITY = 10 * 1000 * 1000,
    VALUE_SIZE = 32,
    TRIES = 10
};
static const double default_fpr = 0.001;
static const char label_start[] = "bfuniq --generations ";

static unsigned filters_of(const struct filter_plan *plan)
{
    return plan->generations > 0 ? plan->generations : 1;
}

/* What a generation's file says of itself. */
static void make_label(const struct filter_plan *plan, char label[BLOOMFILE_MAX_LABEL + 1])
{
    snprintf(label, BLOOMFILE_MAX_LABEL + 1, "%s%u", label_start, plan->generations);
}

/* Memory that the machine does not have is not refused when a filter is made: the kernel kills
 * programs to find it. */
static void check_memory(const struct filter_plan *plan, const struct bloomfile_params *params)
{
    char needed[VALUE_SIZE], present[VALUE_SIZE];
    uint64_t bytes, bits = params->bits;
    if (bits == 0)
        bits = bloomfile_bits_for(params->layout, params->capacity, params->fpr, 0);
    if (__builtin_mul_overflow(bits / 8, filters_of(plan), &bytes))
        bytes = UINT64_MAX;
    uint64_t memory = (uint64_t)sysconf(_SC_PHYS_PAGES) * (uint64_t)sysconf(_SC_PAGESIZE);
    if (bytes > memory)
        cli_fail(0, "cannot hold %s in memory, this machine has %s (--filter takes a file)",
                 cli_bytes(needed, sizeof(needed), bytes),
                 cli_bytes(present, sizeof(present), memory));
}

bloomfile *filter_create(const struct filter_plan *plan, const char *path)
{
    bloomfile *f;
    char label[BLOOMFILE_MAX_LABEL + 1];
    struct bloomfile_params params = plan->params;
    make_label(plan, label);
    if (plan->generations > 0)
        params.label = label;
    if (params.capacity == 0)
        params.capacity = DEFAULT_CAPACITY;
    if (params.fpr == 0)
        params.fpr = default_fpr / filters_of(plan);
    if (path == NULL)
        check_memory(plan, &params);
    int error = path != NULL ? bloomfile_create(&f, path, &params, BLOOMFILE_ADD_EXACT)
                             : bloomfile_create_memory(&f, &params, BLOOMFILE_SOLE_ADDER);
    if (error != 0 && (error != EEXIST || path == NULL))
        cli_fail(0, "cannot make %s for %" PRIu64 " key%s: %s%s",
                 path != NULL ? path : "a filter in memory", params.capacity,
                 cli_s(params.capacity), bloomfile_strerror(error), say_advice(error));
    return f;
}

/* ------------------------------------------------------------------------------ contradictions */

static void compare(const char *path, const char *option, const char *made, const char *wanted)
{
    if (strcmp(made, wanted) != 0)
        cli_fail(0, "%s was made with %s %s, not %s (leave the option out, or name a new file)",
                 path, option, made, wanted);
}

static void compare_numbers(const char *path, const char *option, uint64_t made, uint64_t wanted)
{
    char is[VALUE_SIZE], should_be[VALUE_SIZE];
    snprintf(is, sizeof(is), "%" PRIu64, made);
    snprintf(should_be, sizeof(should_be), "%" PRIu64, wanted);
    compare(path, option, is, should_be);
}

static void compare_rates(const struct filter_plan *plan, const char *path, double made)
{
    char is[VALUE_SIZE], should_be[VALUE_SIZE];
    snprintf(is, sizeof(is), "%.12g", made * filters_of(plan));
    snprintf(should_be, sizeof(should_be), "%.12g", plan->params.fpr * filters_of(plan));
    compare(path, "-p", is, should_be);
}

static bool has_our_label(const struct filter_plan *plan, const struct bloomfile_info *info)
{
    char label[BLOOMFILE_MAX_LABEL + 1];
    make_label(plan, label);
    return strcmp(info->label, label) == 0;
}

static bool is_generation(const struct bloomfile_info *info)
{
    return strncmp(info->label, label_start, strlen(label_start)) == 0;
}

static void check(const struct filter_plan *plan, const char *path, const bloomfile *f)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    const struct bloomfile_params *wanted = &plan->params;
    bool generations = plan->generations > 0;
    bloomfile_get_info(f, &info);
    const struct bloomfile_traits *layout = bloomfile_traits_of(info.layout);
    if (!generations && is_generation(&info))
        cli_fail(0, "cannot use %s: it is one of '%s' (name them without the number)", path,
                 info.label);
    if (layout->counts)
        cli_fail(0, "cannot use %s: it is of the %s layout, not blocked or classic", path,
                 layout->name);
    if (generations && !has_our_label(plan, &info))
        cli_fail(0, "cannot use %s: it is labelled '%s', not 'bfuniq --generations %u'", path,
                 info.label, plan->generations);
    if (wanted->capacity != 0)
        compare_numbers(path, generations ? "--every" : "-n", info.capacity, wanted->capacity);
    if (wanted->fpr != 0)
        compare_rates(plan, path, say_promised(&info));
    if (wanted->layout != 0)
        compare(path, "-l", layout->name, bloomfile_traits_of(wanted->layout)->name);
    if (plan->has_seed)
        compare_numbers(path, "-s", info.seed, wanted->seed);
}

/* ------------------------------------------------------------------------------------- opening */

static const char *advice(int error)
{
    switch (error) {
    case BLOOMFILE_ESEALED:
        return " (name a new file, and it is made)";
    case BLOOMFILE_EPOISONED:
        return " (remove it to begin anew)";
    case BLOOMFILE_EUNCLEAN:
        return " (with --accept-unclean it is used all the same: what it has lost is printed "
               "again)";
    default:
        return say_advice(error);
    }
}

bloomfile *filter_open(const struct filter_plan *plan, const char *path, bool adding)
{
    bloomfile *f;
    unsigned flags = adding ? BLOOMFILE_WRITE | BLOOMFILE_ADD_EXACT : 0;
    int error = bloomfile_open(&f, path, flags | plan->open_flags);
    if (error == ENOENT)
        return NULL;
    if (error != 0)
        cli_fail(0, "cannot use %s: %s%s", path, bloomfile_strerror(error), advice(error));
    check(plan, path, f);
    return f;
}

bloomfile *filter_open_or_create(const struct filter_plan *plan, const char *path)
{
    bloomfile *f = NULL;
    for (int tries = 0; tries < TRIES && f == NULL; tries++) {
        f = filter_open(plan, path, true);
        if (f == NULL && target_leads_nowhere(path))
            cli_fail(0, "cannot make %s: it is a symbolic link to nothing", path);
        if (f == NULL)
            f = filter_create(plan, path);
    }
    if (f == NULL)
        cli_fail(0, "cannot use %s: it is there, and when it is to be opened it is not", path);
    return f;
}

bool filter_is_generation(const char *path, char label[BLOOMFILE_MAX_LABEL + 1])
{
    bloomfile *f;
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    if (bloomfile_open(&f, path, BLOOMFILE_ACCEPT_UNCLEAN) != 0)
        return false;
    bloomfile_get_info(f, &info);
    bloomfile_close(f);
    memcpy(label, info.label, BLOOMFILE_MAX_LABEL + 1);
    return is_generation(&info);
}

bool filter_is_ours(const struct filter_plan *plan, const char *path)
{
    char is[BLOOMFILE_MAX_LABEL + 1], should_be[BLOOMFILE_MAX_LABEL + 1];
    make_label(plan, should_be);
    return filter_is_generation(path, is) && strcmp(is, should_be) == 0;
}

void filter_follow(struct filter_plan *plan, const bloomfile *f)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(f, &info);
    plan->params.layout = info.layout;
    plan->params.hashes = info.hashes;
    plan->params.capacity = info.capacity;
    plan->params.fpr = info.fpr;
    plan->params.bits = info.bits;
    plan->params.seed = info.seed;
    plan->has_seed = true;
}
