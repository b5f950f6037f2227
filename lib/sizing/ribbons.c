/* SPDX-License-Identifier: MIT
 * Rates of the layout ribbon: the mean over pages, whose columns follow from their keys. k is 0. */
#include "sizing/rates.h"

#include <math.h>

#include "format/ribbon.h"

static double power_of_half(unsigned columns)
{
    return 1 / (double)((uint64_t)1 << columns);
}

/* Of a page with that many blocks. */
static double page_rate(unsigned blocks, unsigned words)
{
    if (blocks > words / 2)
        return 1;
    const uint32_t shape = ribbon_shape(blocks, 0, words);
    const double first = blocks - 1, few = fmin(ribbon_few(shape), first);
    const double most = power_of_half(ribbon_fewest(shape));
    return (few * most + (first - few) * most / 2) / first;
}

/* How many blocks a page takes on average beyond the first number of them, since no seed will do:
 * measured each 1000 keys. */
static double further_blocks(double keys)
{
    static const double measured[] = { 0,    0,   0.008, 0.05, 0.23, 0.58, 1.07, 1.75, 2.8,
                                       3.75, 4.4, 5.5,   6.8,  8.2,  9.6,  11,   12.4 };
    const double places = sizeof measured / sizeof measured[0] - 1;
    const double place = fmin(keys / 1000, places);
    const unsigned i = (unsigned)fmin(place, places - 1);
    return measured[i] + (measured[i + 1] - measured[i]) * (place - i);
}

static double rate_of_keys(double keys, unsigned words)
{
    const double further = further_blocks(keys), whole = (double)(unsigned)further;
    const unsigned blocks = ribbon_first_blocks((uint64_t)keys, words) + (unsigned)whole;
    const double now = page_rate(blocks, words), next = page_rate(blocks + 1, words);
    return now + (next - now) * fmin(further - whole, 1);
}

static double rate_in_page(void *words, double keys)
{
    return rate_of_keys(keys, *(const unsigned *)words);
}

/* Of a page with that many of all lines. */
static double mean_rate(unsigned lines, uint64_t all, uint64_t n)
{
    unsigned words = ribbon_words(lines);
    if (lines == all)
        return rate_of_keys((double)n, words);
    return rates_mean(rate_in_page, &words, n, (double)(all - lines) / lines);
}

static double expected(struct sizing_memo *unused, uint64_t lines, uint32_t k, uint64_t n)
{
    (void)unused, (void)k;
    const uint64_t whole = lines / RIBBON_LINES * RIBBON_LINES, rest = lines - whole;
    double sum = 0;
    if (n / (lines / RIBBON_LINES + 1) > (uint64_t)2 * RIBBON_BLOCKS_MOST * RIBBON_SLOTS)
        return 1;
    if (whole > 0)
        sum += (double)whole * mean_rate(RIBBON_LINES, lines, n);
    if (rest > 0)
        sum += (double)rest * mean_rate((unsigned)rest, lines, n);
    return sum / (double)lines;
}

/* blocks[c]: the weight of lookups that meet c columns. */
static double measured(uint64_t m, uint32_t k, uint64_t ones, const uint64_t blocks[513])
{
    (void)m, (void)k, (void)ones;
    double sum = 0, all = 0;
    for (unsigned columns = RIBBON_COLUMNS_MOST + 1; columns-- > 0;) {
        sum += (double)blocks[columns] * power_of_half(columns);
        all += (double)blocks[columns];
    }
    return sum / all;
}

/* Keys cannot be estimated: half of the bits are ones, however many there are. */
const struct sizing rates_of_ribbons = {
    .expected = expected,
    .measured = measured,
};
