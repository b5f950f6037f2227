/* SPDX-License-Identifier: MIT
 * What the bits of a body say. */
#include "sizing/sizing.h"

#include <bloomfile.h>
#include <math.h>

#include "format/probe.h"
#include "sizing/rates.h"

double sizing_measured_fpr(uint32_t layout, uint64_t m, uint32_t k, uint64_t ones,
                           const uint64_t blocks[513])
{
    if (layout != BLOOMFILE_BLOCKED)
        return rates_power((double)ones / (double)m, k);
    double sum = 0;
    for (unsigned i = 1; i <= PROBE_BLOCK_BITS; i++)
        sum += (double)blocks[i] * rates_power((double)i / PROBE_BLOCK_BITS, k);
    return sum / (double)(m / PROBE_BLOCK_BITS);
}

double sizing_estimated_keys(uint32_t layout, uint64_t m, uint32_t k, uint64_t ones)
{
    if (ones >= m)
        return INFINITY;
    double empty = -log1p(-(double)ones / (double)m);
    if (layout == BLOOMFILE_BLOCKED)
        return empty / (1 - rates_power(1 - 1.0 / PROBE_BLOCK_BITS, k)) *
               (double)(m / PROBE_BLOCK_BITS);
    return empty / -log1p(-1 / (double)m) / k;
}

/* The chain of a block that has `ones` ones already, weighted. */
static void start_from(struct cover *sum, uint32_t k, unsigned ones, double weight)
{
    const double cells = PROBE_BLOCK_BITS, empty = cells - ones;
    double uncovered[BLOOMFILE_MAX_HASHES + 2] = { 1 };
    for (uint32_t probe = 0; probe < k; probe++)
        for (uint32_t u = probe + 2; u-- > 0;) {
            double stays = uncovered[u] * (u < empty ? 1 - (empty - u) / cells : 1);
            double comes =
                u > 0 && u - 1 < empty ? uncovered[u - 1] * (empty - (u - 1)) / cells : 0;
            uncovered[u] = stays + comes;
        }
    for (uint32_t u = 0; u <= k; u++)
        sum->uncovered[u] += weight * uncovered[u];
}

static double blocked_fpr_after(uint64_t blocks_count, uint32_t k, const uint64_t blocks[513],
                                uint64_t more)
{
    struct block_rates rates;
    rates_blocks_start(&rates, k);
    for (uint32_t u = 0; u <= k; u++)
        rates.cover.uncovered[u] = 0;
    for (unsigned ones = 0; ones <= PROBE_BLOCK_BITS; ones++)
        if (blocks[ones] != 0)
            start_from(&rates.cover, k, ones, (double)blocks[ones] / (double)blocks_count);
    return rates_blocked(&rates, blocks_count, more);
}

double sizing_fpr_after(uint32_t layout, uint64_t m, uint32_t k, uint64_t ones,
                        const uint64_t blocks[513], uint64_t more)
{
    if (layout == BLOOMFILE_BLOCKED)
        return blocked_fpr_after(m / PROBE_BLOCK_BITS, k, blocks, more);
    double empty = 1 - (double)ones / (double)m;
    return rates_power(1 - empty * rates_exp_minus((double)more / (double)m * k), k);
}

double sizing_standard_error(uint32_t layout, uint64_t m, uint32_t k, uint64_t ones,
                             const uint64_t blocks[513])
{
    const double mean = sizing_measured_fpr(layout, m, k, ones, blocks);
    if (ones == 0)
        return 0;
    if (layout != BLOOMFILE_BLOCKED)
        return mean * k * sqrt((double)(m - ones) / (double)ones / (double)m);
    const double count = (double)(m / PROBE_BLOCK_BITS);
    double sum = 0;
    for (unsigned i = 0; i <= PROBE_BLOCK_BITS; i++) {
        double off = rates_power((double)i / PROBE_BLOCK_BITS, k) - mean;
        sum += (double)blocks[i] * off * off;
    }
    return sqrt(sum) / count;
}

/* By how much the intersection's fill exceeds what this common fill explains. */
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
