/* SPDX-License-Identifier: MIT
 * Rates of the blocked layout: the mean over blocks. */
#include "sizing/rates.h"

#include <math.h>

#include "format/probe.h"

/* For empty blocks, keys of k positions each, and absent keys of that many. */
static void start(struct sizing_memo *rates, uint32_t k, uint32_t absent)
{
    rates->known = 0;
    rates->room = SIZING_BLOCK_THROWS / k + 1;
    rates->throws = k;
    rates_cover_start(&rates->cover, absent, PROBE_BLOCK_BITS);
}

static double block_rate(void *memo, double keys)
{
    struct sizing_memo *rates = memo;
    if (keys >= rates->room)
        return 1;
    for (; rates->known <= keys; rates->known++) {
        rates->by_keys[rates->known] = rates->cover.uncovered[0];
        rates_cover_throw(&rates->cover, rates->throws);
    }
    return rates->by_keys[(uint32_t)keys];
}

static double mean_rate(struct sizing_memo *rates, uint64_t blocks, uint64_t n)
{
    if (blocks == 1 || n / blocks >= (uint64_t)2 * SIZING_BLOCK_THROWS)
        return block_rate(rates, (double)(n / blocks));
    return rates_mean(block_rate, rates, n, (double)(blocks - 1));
}

static double expected(struct sizing_memo *memo, uint64_t blocks, uint32_t k, uint64_t n)
{
    if (memo->cover.k != k)
        start(memo, k, k);
    return mean_rate(memo, blocks, n);
}

static double block_rate_by_keys(void *memo, double keys)
{
    return block_rate(memo, keys) * keys;
}

/* How much of a block's variance goes with its number of keys. That part cancels, as far as the
 * rate is linear in it: keys that one block lacks are in another. */
static double linear_variance(struct sizing_memo *rates, uint64_t blocks, uint64_t n, double rate)
{
    const double others = (double)(blocks - 1), keys = (double)n / (double)blocks;
    const double product = rates_mean(block_rate_by_keys, rates, n, others) - keys * rate;
    return product * product / (keys * others / (double)blocks);
}

/* Two absent keys of one block are both false positives with the mean of the square of its rate. */
static double variance(uint64_t blocks, uint32_t k, uint64_t n)
{
    struct sizing_memo memo;
    start(&memo, k, k);
    const double rate = mean_rate(&memo, blocks, n);
    if (rate <= 0 || rate >= 1)
        return 0;
    const double linear = blocks > 1 ? linear_variance(&memo, blocks, n, rate) : 0;
    start(&memo, k, 2 * k);
    const double square = mean_rate(&memo, blocks, n);
    return fmax(0, (square - linear) / rate / rate - 1) / (double)blocks;
}

static double measured(uint64_t m, uint32_t k, uint64_t ones, const uint64_t blocks[513])
{
    (void)ones;
    double sum = 0;
    for (unsigned i = 1; i <= PROBE_BLOCK_BITS; i++)
        sum += (double)blocks[i] * rates_power((double)i / PROBE_BLOCK_BITS, k);
    return sum / (double)(m / PROBE_BLOCK_BITS);
}

/* Averaged over the keys of a block. */
static double estimated_keys(uint64_t m, uint32_t k, uint64_t ones)
{
    if (ones >= m)
        return INFINITY;
    double empty = -log1p(-(double)ones / (double)m);
    return empty / (1 - rates_power(1 - 1.0 / PROBE_BLOCK_BITS, k)) *
           (double)(m / PROBE_BLOCK_BITS);
}

/* The chain of a block that has `ones` ones already, weighted. */
static void start_from(struct rates_cover *sum, uint32_t k, unsigned ones, double weight)
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

/* Exactly. */
static double after(uint64_t m, uint32_t k, uint64_t unused, const uint64_t blocks[513],
                    uint64_t more)
{
    (void)unused;
    const uint64_t count = m / PROBE_BLOCK_BITS;
    struct sizing_memo memo;
    start(&memo, k, k);
    for (uint32_t u = 0; u <= k; u++)
        memo.cover.uncovered[u] = 0;
    for (unsigned ones = 0; ones <= PROBE_BLOCK_BITS; ones++)
        if (blocks[ones] != 0)
            start_from(&memo.cover, k, ones, (double)blocks[ones] / (double)count);
    return mean_rate(&memo, count, more);
}

static double standard_error(uint64_t m, uint32_t k, uint64_t ones, const uint64_t blocks[513])
{
    const double mean = measured(m, k, ones, blocks);
    if (ones == 0)
        return 0;
    const double count = (double)(m / PROBE_BLOCK_BITS);
    double sum = 0;
    for (unsigned i = 0; i <= PROBE_BLOCK_BITS; i++) {
        double off = rates_power((double)i / PROBE_BLOCK_BITS, k) - mean;
        sum += (double)blocks[i] * off * off;
    }
    return sqrt(sum) / count;
}

const struct sizing rates_of_blocks = {
    .expected = expected,
    .variance = variance,
    .measured = measured,
    .estimated_keys = estimated_keys,
    .after = after,
    .standard_error = standard_error,
};
