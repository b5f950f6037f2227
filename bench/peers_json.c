/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "bench.h"
#include "peers.h"

const char *const op_names[OPS] = {
    [OP_ADD_ONE] = "add_one",
    [OP_ADD_BATCH] = "add_batch",
    [OP_ONE_ABSENT] = "lookup_one_absent",
    [OP_ONE_PRESENT] = "lookup_one_present",
    [OP_BATCH_ABSENT] = "lookup_batch_absent",
    [OP_BATCH_PRESENT] = "lookup_batch_present",
};

/* Printable ASCII; NULL is null. */
static void put_string(FILE *out, const char *text)
{
    if (text == NULL) {
        fputs("null", out);
        return;
    }
    fputc('"', out);
    for (; *text != '\0'; text++) {
        if (*text == '"' || *text == '\\')
            fputc('\\', out);
        if (*text >= ' ' && *text <= '~')
            fputc(*text, out);
    }
    fputc('"', out);
}

static void put_number(FILE *out, double value)
{
    if (isnan(value))
        fputs("null", out);
    else
        fprintf(out, "%.6g", value);
}

static void put_turns(FILE *out, const struct series *s)
{
    fputc('[', out);
    for (unsigned i = 0; i < s->count; i++) {
        fputs(i > 0 ? ", " : "", out);
        put_number(out, s->ns[i]);
    }
    fputc(']', out);
}

static void put_entrant(FILE *out, const struct trial *t, const struct entrant *e)
{
    fputs("      {\"name\": ", out);
    put_string(out, e->player->name);
    fputs(", \"version\": ", out);
    put_string(out, e->player->version);
    fputs(", \"kernel\": ", out);
    put_string(out, e->player->kernel);
    fprintf(out, ", \"limit\": %s", entrant_is_limit(e) ? "true" : "false");
    if (!entrant_is_limit(e)) {
        fprintf(out, ", \"bytes\": %" PRIu64 ", \"bits_per_key\": ", e->bytes);
        put_number(out, entrant_bits_per_key(e, t));
        fputs(", \"rate\": ", out);
        put_number(out, entrant_rate(e, t));
        fprintf(out, ", \"lost\": %" PRIu64 ", \"build_ns\": ", e->lost);
        put_number(out, entrant_build_ns(e, t));
    }
    for (unsigned op = 0; op < OPS; op++) {
        fprintf(out, ",\n       \"%s\": {\"median_ns\": ", op_names[op]);
        put_number(out, series_median(&e->series[op]));
        fputs(", \"turns_ns\": ", out);
        put_turns(out, &e->series[op]);
        fputc('}', out);
    }
    fputc('}', out);
}

static void put_trial(FILE *out, const struct trial *t)
{
    bool any = false;
    fprintf(out,
            "    {\"form\": \"%s\", \"keys\": %" PRIu64 ", \"bits\": %g, \"queries\": %" PRIu64
            ", \"entrants\": [",
            form_names[t->plan.form], t->plan.keys, t->plan.bits, t->plan.queries);
    for (unsigned i = 0; i < t->count; i++) {
        if (t->entrants[i].is_out)
            continue;
        fputs(any ? ",\n" : "\n", out);
        put_entrant(out, t, &t->entrants[i]);
        any = true;
    }
    fputs("]}", out);
}

static void put_verdict(FILE *out, const struct verdict *v)
{
    fputs("    {\"what\": ", out);
    put_string(out, v->what);
    fputs(", \"value\": ", out);
    put_number(out, v->value);
    fprintf(out, ", \"unit\": \"%s\", \"target\": ", v->unit);
    put_number(out, v->target == 0 ? NAN : v->target);
    fprintf(out, ", \"at_least\": %s, \"kept\": %s}", v->at_least ? "true" : "false",
            verdict_is_kept(v) ? "true" : "false");
}

void write_json(FILE *out, const struct report *r)
{
    fputs("{\n  \"machine\": ", out);
    put_string(out, machine_words());
    fputs(",\n  \"absent\": ", out);
    put_string(out, r->roster->absent);
    fputs(",\n  \"trials\": [\n", out);
    for (unsigned i = 0; i < r->trials_count; i++) {
        fputs(i > 0 ? ",\n" : "", out);
        put_trial(out, &r->trials[i]);
    }
    fputs("],\n  \"verdicts\": [\n", out);
    for (unsigned i = 0; i < r->verdicts_count; i++) {
        fputs(i > 0 ? ",\n" : "", out);
        put_verdict(out, &r->verdicts[i]);
    }
    fputs("]\n}\n", out);
}
