/* SPDX-License-Identifier: MIT */
#include "sstable_figures.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "harness/bench.h"

static void print_number(double value)
{
    printf(value < 99.5 ? "%.3g" : "%.0f", value);
}

/* `without`: 0 if there is nothing to compare it with. */
static void print_figure(double value, double without)
{
    printf(" ");
    if (isnan(value)) {
        printf("-");
    } else {
        print_number(value);
        if (without > 0)
            printf(" (%.*f x less)", without / value < 10, without / value);
    }
    printf(" |");
}

void figures_print(struct figures *f, const struct sample *s, const char *compression,
                   uint64_t rounds)
{
    static const char *const names[] = { "none", "sidecar", "embedded" };
    double without[FIGURES] = { 0 };
    for (enum kind kind = WITHOUT; kind < KINDS; kind++) {
        printf("| %" PRIu64 " x %" PRIu64 " | %s | %s |", s->tables, s->rows, compression,
               names[kind]);
        for (enum figure figure = MISS; figure < FIGURES; figure++) {
            const double value = bench_median(f->values[kind][figure], rounds);
            print_figure(value, kind == WITHOUT || figure == COLD_OPEN ? 0 : without[figure]);
            if (kind == WITHOUT)
                without[figure] = value;
        }
        printf("\n");
    }
}

void figures_print_head(const struct sample *s, uint64_t rounds)
{
    printf("### bench-sstable: %" PRIu64 " tables whose keys overlap, medians of %" PRIu64
           " rounds\n\n"
           "| tables x rows | compression | filters | miss, us | hit, us | miss of 256, us | "
           "hit of 256, us | cold open, kB | cold miss, kB | cold hit, kB |\n"
           "|--:|---|---|--:|--:|--:|--:|--:|--:|--:|\n",
           s->tables, rounds);
}
