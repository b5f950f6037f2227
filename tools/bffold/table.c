/* SPDX-License-Identifier: MIT
 * The plan of a fold as a table. */
#include "bffold/fold.h"
#include "cli/cli.h"
#include "filters/messages.h"

#include <bloomfile_combine.h>
#include <bloomfile_unstable.h>
#include <inttypes.h>
#include <string.h>

enum {
    SHORT = 64
};

size_t fold_shown(const struct fold_plan *p)
{
    size_t shown = 1; /* factor 1 */
    if (p->all)
        return p->count;
    while (shown < p->count && p->choices[shown].fpr <= MESSAGE_USELESS)
        shown++;
    return shown;
}

const char *fold_unit(const struct fold_plan *p)
{
    return bloomfile_traits_of(p->info.layout)->unit;
}

uint64_t fold_units(const struct fold_plan *p)
{
    return p->info.bits / bloomfile_traits_of(p->info.layout)->unit_cells;
}

static void put_row(FILE *out, const struct fold_plan *p, size_t i, int width)
{
    const struct bloomfile_fold_choice *c = &p->choices[i];
    char size[SHORT], each[SHORT] = "-", fill[SHORT], rate[SHORT], later[SHORT];
    unsigned bits = bloomfile_traits_of(p->info.layout)->cell_bits;
    if (p->keys > 0)
        snprintf(each, sizeof(each), "%.2f", bits * (double)c->bits / (double)p->keys);
    snprintf(fill, sizeof(fill), "%.1f%%", 100 * (double)c->ones / (double)c->bits);
    fprintf(out, "%c %8" PRIu64 "  %11s  %12s  %7s  %10s  %*s\n", i == p->chosen ? '*' : ' ',
            c->factor, cli_bytes(size, sizeof(size), c->image_size), each, fill,
            cli_percent(rate, sizeof(rate), c->fpr), width,
            cli_percent(later, sizeof(later), c->fpr_more));
}

/* Summarizes the factors that the rows omit. */
static void put_rest(FILE *out, const struct fold_plan *p, size_t shown)
{
    size_t rest = 0, first = 0, last = 0;
    double least = 1;
    char rate[SHORT];
    for (size_t i = shown; i < p->count; i++) {
        if (i == p->chosen)
            continue;
        first = rest == 0 ? i : first;
        last = i;
        least = p->choices[i].fpr < least ? p->choices[i].fpr : least;
        rest++;
    }
    if (rest == 0)
        return;
    fprintf(out, "%zu more factor%s, %" PRIu64, rest, cli_s(rest), p->choices[first].factor);
    if (rest > 1)
        fprintf(out, " to %" PRIu64, p->choices[last].factor);
    fprintf(out, ": rate %s%s (--all shows %s)\n", cli_percent(rate, sizeof(rate), least),
            rest == 1 ? "" : " or more", rest == 1 ? "it" : "them");
}

void fold_table(FILE *out, const struct fold_plan *p)
{
    char more[SHORT];
    size_t shown = fold_shown(p);
    snprintf(more, sizeof(more), "+%" PRIu64 " key%s", p->more, cli_s(p->more));
    int width = strlen(more) < 10 ? 10 : (int)strlen(more);
    fprintf(out, "  %8s  %11s  %12s  %7s  %10s  %*s\n", "factor", "size", "bits per key", "fill",
            "rate", width, more);
    for (size_t i = 0; i < p->count; i++) {
        if (i < shown || i == p->chosen)
            put_row(out, p, i, width);
    }
    put_rest(out, p, shown);
}
