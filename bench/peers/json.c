/* SPDX-License-Identifier: MIT
 * Every turn of every figure, by json-c. */
#include <json-c/json.h>
#include <math.h>
#include <stdio.h>

#include "harness/bench.h"
#include "peers/peers.h"

static const char *const op_names[OPS] = {
    [OP_ADD_ONE] = "add_one",
    [OP_ADD_BATCH] = "add_batch",
    [OP_ONE_ABSENT] = "lookup_one_absent",
    [OP_ONE_PRESENT] = "lookup_one_present",
    [OP_BATCH_ABSENT] = "lookup_batch_absent",
    [OP_BATCH_PRESENT] = "lookup_batch_present",
};

/* NaN is null. */
static json_object *number(double value)
{
    char text[32];
    if (isnan(value))
        return NULL;
    snprintf(text, sizeof text, "%.6g", value);
    return bench_memory(json_object_new_double_s(value, text));
}

static json_object *string(const char *text)
{
    return text == NULL ? NULL : bench_memory(json_object_new_string(text));
}

static json_object *boolean(bool value)
{
    return bench_memory(json_object_new_boolean(value));
}

static json_object *whole(uint64_t value)
{
    return bench_memory(json_object_new_uint64(value));
}

static void put(json_object *o, const char *name, json_object *value)
{
    if (json_object_object_add(o, name, value) != 0)
        bench_memory(NULL);
}

static void append(json_object *array, json_object *value)
{
    if (json_object_array_add(array, value) != 0)
        bench_memory(NULL);
}

static json_object *series(const struct series *s)
{
    json_object *o = bench_memory(json_object_new_object());
    json_object *turns = bench_memory(json_object_new_array());
    for (unsigned i = 0; i < s->count; i++)
        append(turns, number(s->ns[i]));
    put(o, "median_ns", number(series_median(s)));
    put(o, "turns_ns", turns);
    return o;
}

static json_object *entrant(const struct trial *t, const struct entrant *e)
{
    json_object *o = bench_memory(json_object_new_object());
    put(o, "name", string(e->player->name));
    put(o, "version", string(e->player->version));
    put(o, "kernel", string(e->player->kernel));
    put(o, "limit", boolean(entrant_is_limit(e)));
    if (!entrant_is_limit(e)) {
        put(o, "bytes", whole(e->bytes));
        put(o, "bits_per_key", number(entrant_bits_per_key(e, t)));
        put(o, "rate", number(entrant_rate(e, t)));
        put(o, "lost", whole(e->lost));
        put(o, "build_ns", number(entrant_build_ns(e, t)));
    }
    for (unsigned op = 0; op < OPS; op++)
        put(o, op_names[op], series(&e->series[op]));
    return o;
}

static json_object *trial(const struct trial *t)
{
    json_object *o = bench_memory(json_object_new_object());
    json_object *entrants = bench_memory(json_object_new_array());
    put(o, "form", string(form_names[t->plan.form]));
    put(o, "keys", whole(t->plan.keys));
    put(o, "bits", number(t->plan.bits));
    put(o, "queries", whole(t->plan.queries));
    for (unsigned i = 0; i < t->count; i++)
        if (!t->entrants[i].is_out)
            append(entrants, entrant(t, &t->entrants[i]));
    put(o, "entrants", entrants);
    return o;
}

static json_object *verdict(const struct verdict *v)
{
    json_object *o = bench_memory(json_object_new_object());
    put(o, "what", string(v->what));
    put(o, "value", number(v->value));
    put(o, "unit", string(v->unit));
    put(o, "target", number(v->target == 0 ? NAN : v->target));
    put(o, "at_least", boolean(v->at_least));
    put(o, "kept", boolean(verdict_is_kept(v)));
    return o;
}

void write_json(FILE *out, const void *report)
{
    const struct report *r = report;
    json_object *o = bench_memory(json_object_new_object());
    json_object *trials = bench_memory(json_object_new_array());
    json_object *verdicts = bench_memory(json_object_new_array());
    for (unsigned i = 0; i < r->trials_count; i++)
        append(trials, trial(&r->trials[i]));
    for (unsigned i = 0; i < r->verdicts_count; i++)
        append(verdicts, verdict(&r->verdicts[i]));
    put(o, "machine", string(machine_words()));
    put(o, "absent", string(r->roster->absent));
    put(o, "trials", trials);
    put(o, "verdicts", verdicts);
    fputs(bench_memory((void *)(uintptr_t)json_object_to_json_string_ext(
              o, JSON_C_TO_STRING_PRETTY | JSON_C_TO_STRING_SPACED)),
          out);
    fputc('\n', out);
    json_object_put(o);
}
