/* SPDX-License-Identifier: MIT
 * Rates of the layouts whose positions lie anywhere: classic and counting. */
#include "sizing/rates.h"

#include <math.h>

/* Beyond this, the rate is computed from the moments of the fill. */
#define CHAIN_THROWS 2048

/* The variance of the fill, divided by the square of its mean. */
static double fill_variance(double m, double load, double full)
{
    const double empty = rates_exp_minus(load);
    return (empty - (1 + load) * empty * empty) / m / (full * full);
}

/* For many cells: the expected fill raised to k, and the second-order effect of its variance. From
 * CHAIN_THROWS on, against the chain, which has no digests either: at most 0.32 % too high (k = 64,
 * three probes a cell), 0.011 % for k up to 20, 0.0006 % up to 7; less where cells are many. */
static double moments_fpr(double m, uint32_t k, double n)
{
    double load = n / m * k, empty = rates_exp_minus(load), full = rates_one_minus_exp_minus(load);
    double mean = full + empty * load / (2 * m);
    return rates_power(mean, k) / rates_exp_minus(k * (k - 1) / 2.0 * fill_variance(m, load, full));
}

/* That of (fill)^k, which is nearly log-normal. */
static double variance(uint64_t m, uint32_t k, uint64_t n)
{
    double load = (double)n / (double)m * k;
    double full = rates_one_minus_exp_minus(load);
    return full > 0 ? expm1(k * k * fmax(0, fill_variance((double)m, load, full))) : 0;
}

static double expected(struct sizing_memo *unused, uint64_t m, uint32_t k, uint64_t n)
{
    (void)unused;
    if (n > CHAIN_THROWS / k)
        return moments_fpr((double)m, k, (double)n);
    struct rates_cover c;
    rates_cover_start(&c, k, (double)m);
    rates_cover_throw(&c, n * k);
    return c.uncovered[0];
}

static double measured(uint64_t m, uint32_t k, uint64_t ones, const uint64_t blocks[513])
{
    (void)blocks;
    return rates_power((double)ones / (double)m, k);
}

static double estimated_keys(uint64_t m, uint32_t k, uint64_t ones)
{
    if (ones >= m)
        return INFINITY;
    double empty = -log1p(-(double)ones / (double)m);
    return empty / -log1p(-1 / (double)m) / k;
}

/* In the limit of many bits. */
static double after(uint64_t m, uint32_t k, uint64_t ones, const uint64_t blocks[513],
                    uint64_t more)
{
    (void)blocks;
    double empty = 1 - (double)ones / (double)m;
    return rates_power(1 - empty * rates_exp_minus((double)more / (double)m * k), k);
}

static double standard_error(uint64_t m, uint32_t k, uint64_t ones, const uint64_t blocks[513])
{
    if (ones == 0)
        return 0;
    return measured(m, k, ones, blocks) * k * sqrt((double)(m - ones) / (double)ones / (double)m);
}

const struct sizing rates_of_cells = {
    .expected = expected,
    .variance = variance,
    .measured = measured,
    .estimated_keys = estimated_keys,
    .after = after,
    .standard_error = standard_error,
};
