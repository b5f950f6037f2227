/* SPDX-License-Identifier: MIT
 * Markov chains of at most k + 1 states; no libm, so that every machine agrees. */
#include "sizing/rates.h"

#include <float.h>
#include <math.h>

#include "format/probe.h"

/* Sizes must come out equal on every machine: no x87, no contraction (-ffp-contract=off in
 * meson.build; the pragma for compilers that heed it), no reordering. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif
#ifdef __FAST_MATH__
#error "build without -ffast-math: filters of the same keys would differ in size"
#endif
/* 1: only floats are computed as doubles, and here are none (s390x). */
_Static_assert(FLT_EVAL_METHOD == 0 || FLT_EVAL_METHOD == 1,
               "doubles must be computed as doubles (-msse2 -mfpmath=sse)");

/* Beyond this, a classic filter is computed from the moments of its fill. */
#define CHAIN_THROWS 2048

static void cover_start(struct cover *c, uint32_t k, double cells)
{
    *c = (struct cover){ .uncovered = { 1 }, .cells = cells, .k = k };
    for (uint32_t probe = 0; probe < k; probe++) {
        for (uint32_t r = probe + 1; r > 0; r--)
            c->uncovered[r] =
                c->uncovered[r] * (r / cells) + c->uncovered[r - 1] * (1 - (r - 1) / cells);
        c->uncovered[0] = 0;
    }
}

static void cover_throw(struct cover *c, uint64_t times)
{
    for (; times > 0; times--)
        for (uint32_t u = 0; u <= c->k; u++)
            c->uncovered[u] =
                c->uncovered[u] * (1 - u / c->cells) + c->uncovered[u + 1] * ((u + 1) / c->cells);
}

double rates_power(double x, uint32_t n)
{
    double result = 1;
    for (; n > 0; n /= 2, x *= x)
        if (n % 2 != 0)
            result *= x;
    return result;
}

/* 1 - e^-x for small x >= 0, from the series. */
static double small_one_minus_exp_minus(double x)
{
    double sum = 1;
    for (int i = 13; i > 1; i--)
        sum = 1 - x / i * sum;
    return x * sum;
}

/* e^-x for x >= 0, by squaring: libm differs between machines in the last bit. */
double rates_exp_minus(double x)
{
    if (x > 700)
        return 0;
    unsigned halvings = 0;
    for (; x > 0.125; halvings++)
        x /= 2;
    double result = 1 - small_one_minus_exp_minus(x);
    for (; halvings > 0; halvings--)
        result *= result;
    return result;
}

static double one_minus_exp_minus(double x)
{
    return x <= 0.125 ? small_one_minus_exp_minus(x) : 1 - rates_exp_minus(x);
}

/* For many cells: the expected fill raised to k, and the second-order effect of its variance. From
 * CHAIN_THROWS on, at most 0.3 % too high (k = 64), 0.01 % for k up to 20. */
static double moments_fpr(double m, uint32_t k, double n)
{
    double load = n / m * k, empty = rates_exp_minus(load), full = one_minus_exp_minus(load);
    double mean = full + empty * load / (2 * m);
    double variance = (empty - (1 + load) * empty * empty) / m / (full * full);
    return rates_power(mean, k) / rates_exp_minus(k * (k - 1) / 2.0 * variance);
}

double rates_scattered(uint64_t m, uint32_t k, uint64_t n)
{
    if (n > CHAIN_THROWS / k)
        return moments_fpr((double)m, k, (double)n);
    struct cover c;
    cover_start(&c, k, (double)m);
    cover_throw(&c, n * k);
    return c.uncovered[0];
}

void rates_blocks_start(struct block_rates *rates, uint32_t k)
{
    rates->known = 0;
    rates->room = RATES_BLOCK_THROWS / k + 1;
    cover_start(&rates->cover, k, PROBE_BLOCK_BITS);
}

static double block_rate(struct block_rates *rates, double keys)
{
    if (keys >= rates->room)
        return 1;
    for (; rates->known <= keys; rates->known++) {
        rates->by_keys[rates->known] = rates->cover.uncovered[0];
        cover_throw(&rates->cover, rates->cover.k);
    }
    return rates->by_keys[(uint32_t)keys];
}

/* The mean of the block's rate over Binomial(n, 1/blocks) keys, summed outward from its peak. */
double rates_blocked(struct block_rates *rates, uint64_t blocks, uint64_t n)
{
    const double negligible = 1e-17;
    double keys = (double)n, others = (double)(blocks - 1);
    double peak = (double)(n / blocks);
    if (blocks == 1 || peak >= 2 * RATES_BLOCK_THROWS)
        return block_rate(rates, blocks == 1 ? keys : peak);

    double total = 1, sum = block_rate(rates, peak), weight = 1;
    for (double j = peak; j < keys && weight > negligible; j++) {
        weight *= (keys - j) / (j + 1) / others;
        total += weight;
        sum += weight * block_rate(rates, j + 1);
    }
    weight = 1;
    for (double j = peak; j > 0 && weight > negligible; j--) {
        weight *= j / (keys - j + 1) * others;
        total += weight;
        sum += weight * block_rate(rates, j - 1);
    }
    return sum / total;
}

/* The chance that an absent key shares its digest with one that is there: no filter does better. */
double rates_digest(uint64_t n)
{
    return (double)n / 18446744073709551616.0;
}

double rates_of_units(uint32_t layout, struct block_rates *rates, uint64_t units, uint32_t k,
                      uint64_t n)
{
    double rate =
        layout == BLOOMFILE_BLOCKED ? rates_blocked(rates, units, n) : rates_scattered(units, k, n);
    return fmin(1, rate + (1 - rate) * rates_digest(n));
}
