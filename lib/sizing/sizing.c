/* SPDX-License-Identifier: MIT
 * The search for k and m that reach a rate. */
#include "sizing/sizing.h"

#include <bloomfile.h>
#include <math.h>

#include "format/checksum.h"
#include "format/layout.h"
#include "sizing/rates.h"

/* As functions of k, size and rate have one minimum, but are not monotonic on either side, because
 * m and k are integers. The search stops after so many values of k without improvement. */
#define K_LOOKAHEAD 3

/* Rates that differ by less than this factor count as equal, so that programs that compute rates to
 * nine digits choose the same sizes. */
static const double margin = 1.0 / (1 << 26);

/* The highest rate for which ribbon filters are sized. A page has at least two columns, a rate of
 * 1/4, or every lookup in it returns "maybe". A higher target would leave no room for pages with
 * more keys than the average. */
static const double ribbon_most = 0.24;

static const struct sizing *const layouts[LAYOUT_END] = {
    [BLOOMFILE_LAYOUT_BLOCKED] = &rates_of_blocks,
    [BLOOMFILE_LAYOUT_CLASSIC] = &rates_of_cells,
    [BLOOMFILE_LAYOUT_COUNTING] = &rates_of_cells,
    [BLOOMFILE_LAYOUT_RIBBON] = &rates_of_ribbons,
};

const struct sizing *sizing_of(uint32_t layout)
{
    return layouts[layout];
}

bool sizing_keeps(double rate, double p)
{
    return rate <= p * (1 + margin);
}

/* The chance that an absent key has the digest of a key in the filter: no filter has a lower
 * rate. */
static double digest_rate(uint64_t n)
{
    return (double)n / 18446744073709551616.0;
}

static double expected_rate(uint32_t layout, struct sizing_memo *memo, uint64_t units, uint32_t k,
                            uint64_t n)
{
    const double rate = layouts[layout]->expected(memo, units, k, n);
    return fmin(1, rate + (1 - rate) * digest_rate(n));
}

/* The least number of units that keeps the rate for this k, or limit + 1 if `limit` does not. */
static uint64_t least_units(uint32_t layout, uint64_t n, double p, uint32_t k, uint64_t limit)
{
    struct sizing_memo memo;
    memo.cover.k = 0;
    if (limit == 0 || !sizing_keeps(expected_rate(layout, &memo, limit, k, n), p))
        return limit + 1;
    uint64_t high = limit;
    while (high > 1 && sizing_keeps(expected_rate(layout, &memo, high / 2, k, n), p))
        high /= 2;
    uint64_t low = high / 2;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (sizing_keeps(expected_rate(layout, &memo, middle, k, n), p))
            high = middle;
        else
            low = middle;
    }
    return high;
}

static uint64_t missing_to_multiple(uint64_t x, uint64_t of)
{
    return (of - x % of) % of;
}

/* A filter folds by every divisor of its units. So they are rounded up to a multiple of the largest
 * highly composite number (OEIS A002182), or of 2^i times the last number of the list, that costs
 * at most 0.5% and does not pass the limit. */
static uint64_t round_for_folding(uint64_t units, uint64_t limit)
{
    static const uint32_t highly_composite[] = {
        1,      2,      4,      6,      12,     24,     36,     48,     60,    120,
        180,    240,    360,    720,    840,    1260,   1680,   2520,   5040,  7560,
        10080,  15120,  20160,  25200,  27720,  45360,  50400,  55440,  83160, 110880,
        166320, 221760, 277200, 332640, 498960, 554400, 665280, 720720,
    };
    const uint64_t most = units / 200 < limit - units ? units / 200 : limit - units;
    unsigned i = sizeof highly_composite / sizeof highly_composite[0] - 1;
    const uint64_t last = highly_composite[i];
    uint64_t step = last;
    while (step <= units)
        step *= 2;
    while (missing_to_multiple(units, step) > most)
        step = step > last ? step / 2 : highly_composite[--i]; /* ends at 1 */
    return units + missing_to_multiple(units, step);
}

/* The bits of a layout that is solved, which has no k and does not fold. */
static uint64_t solved_bits(uint32_t layout, uint64_t n, double p, uint64_t limit)
{
    const uint64_t units = least_units(layout, n, fmin(p, ribbon_most), 0, limit);
    return units <= limit ? units * layout_of(layout)->unit_cells : 0;
}

uint64_t sizing_bits(uint32_t layout, uint64_t n, double p, uint32_t *k)
{
    const uint64_t unit_cells = layout_of(layout)->unit_cells;
    uint64_t limit = BLOOMFILE_MAX_BITS / unit_cells, best = limit + 1;
    uint32_t best_k = 0;
    if (p <= digest_rate(n))
        return 0;
    uint32_t first = *k != 0 ? *k : 1, last = *k != 0 ? *k : BLOOMFILE_MAX_HASHES;
    if (layout_of(layout)->solved)
        return solved_bits(layout, n, p, limit);
    for (uint32_t i = first; i <= last && (best_k == 0 || i <= best_k + K_LOOKAHEAD); i++) {
        uint64_t units = least_units(layout, n, p, i, best - 1);
        if (units < best) {
            best = units;
            best_k = i;
        }
    }
    if (best_k == 0)
        return 0;
    *k = best_k;
    return round_for_folding(best, limit) * unit_cells;
}

double sizing_rate(uint32_t layout, uint64_t units, uint32_t k, uint64_t n)
{
    struct sizing_memo memo;
    memo.cover.k = 0;
    return expected_rate(layout, &memo, units, k, n);
}

uint64_t sizing_most_keys(uint32_t layout, uint64_t units, uint32_t k, double p, uint64_t guess)
{
    struct sizing_memo memo;
    memo.cover.k = 0;
    uint64_t too_many = guess;
    while (too_many <= GEOMETRY_MAX_CAPACITY &&
           sizing_keeps(expected_rate(layout, &memo, units, k, too_many), p))
        too_many *= 2;
    if (too_many > GEOMETRY_MAX_CAPACITY)
        return UINT64_MAX;
    uint64_t fit = too_many / 2;
    while (fit > 0 && !sizing_keeps(expected_rate(layout, &memo, units, k, fit), p)) {
        too_many = fit;
        fit /= 2;
    }
    while (too_many - fit > 1) {
        const uint64_t middle = fit + (too_many - fit) / 2;
        if (sizing_keeps(expected_rate(layout, &memo, units, k, middle), p))
            fit = middle;
        else
            too_many = middle;
    }
    return fit;
}

uint64_t sizing_capacity(uint32_t layout, uint64_t m, uint32_t k, double p)
{
    const uint64_t units = geometry_units_of(layout, m);
    uint64_t fit = 1, too_many = m + 1;
    while (too_many - fit > 1) {
        const uint64_t middle = fit + (too_many - fit) / 2;
        const uint32_t hashes = k != 0 ? k : sizing_hashes(layout, m, middle);
        if (sizing_keeps(sizing_rate(layout, units, hashes, middle), p))
            fit = middle;
        else
            too_many = middle;
    }
    return fit;
}

uint32_t sizing_hashes(uint32_t layout, uint64_t m, uint64_t n)
{
    const uint64_t units = geometry_units_of(layout, m);
    uint32_t best_k = 0;
    double best = 0;
    if (layout_of(layout)->solved)
        return 0;
    for (uint32_t k = 1; k <= BLOOMFILE_MAX_HASHES && k <= best_k + K_LOOKAHEAD; k++) {
        const double rate = sizing_rate(layout, units, k, n);
        if (best_k == 0 || rate < best * (1 - margin)) {
            best = rate;
            best_k = k;
        }
    }
    return best_k;
}

uint64_t sizing_file_bits(uint32_t layout, uint64_t m)
{
    const uint64_t page = 8 * (uint64_t)CHECKSUM_PAGE;
    return layout_of(layout)->solved ? (m + page - 1) / page * page : m;
}

/* ---- the fill of an intersection that is common to its sources */

/* The fill of the intersection that a fill of `common` predicts, minus the actual fill. */
static double excess(double common, const double *fill, size_t count, double both)
{
    double by_chance = 1;
    for (size_t i = 0; i < count; i++)
        by_chance *= fmax(0, fill[i] - common) / (1 - common);
    return common + (1 - common) * by_chance - both;
}

double sizing_common_fill(const double *fill, size_t count, double both)
{
    if (both >= 1)
        return 1;
    double low = 0, high = both;
    for (int step = 0; step < 60; step++) {
        double middle = (low + high) / 2;
        if (excess(middle, fill, count, both) > 0)
            high = middle;
        else
            low = middle;
    }
    return low;
}
