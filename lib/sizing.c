/* SPDX-License-Identifier: MIT
 *
 * The rate of a Bloom filter, exactly.
 *
 * An absent key is a false positive if its k probes all hit bits that the inserted keys' probes
 * have set. The k probes fall on r <= k different cells. Look at those r cells while the inserted
 * probes are thrown one after the other: each covers one of the u cells still uncovered with
 * probability u / cells. So the number of uncovered cells is a Markov chain with at most k + 1
 * states, every step adds positive numbers only, and the rate is the probability that nothing is
 * left uncovered. (The usual (1 - e^(-kn/m))^k is the limit for many cells: Bose et al. 2008 show
 * it too low for small m.)
 *
 * To that comes n / 2^64, the chance of a key to share its digest with one that is there.
 *
 * A filter too large for a chain of all its probes has a fill that is nearly normal; its first two
 * moments then give the same rate.
 *
 * A block of the blocked layout is a filter of 512 cells with a binomially distributed number of
 * keys; its rate is the mean of the chain's over that distribution.
 */
#include "sizing.h"

#include <bloomfile.h>
#include <float.h>
#include <math.h>

#include "geometry.h"
#include "probe.h"

/* Sizes must come out equal on every machine: no x87, no contraction (-ffp-contract=off in
 * meson.build; the pragma for compilers that heed it), no reordering. */
#ifdef __clang__
#pragma STDC FP_CONTRACT OFF
#endif
#ifdef __FAST_MATH__
#error "build without -ffast-math: filters of the same keys would differ in size"
#endif
_Static_assert(FLT_EVAL_METHOD == 0, "doubles must be computed as doubles (-mfpmath=sse)");

/* ---- rates */

/* Beyond so many probes a block is taken for full, which errs on the safe side. */
#define BLOCK_THROWS 4096

/* Beyond so many, a classic filter is computed from the moments of its fill. */
#define CHAIN_THROWS 2048

/* uncovered[u]: the probability that u of the absent key's cells are still uncovered. */
struct cover {
    double uncovered[BLOOMFILE_MAX_HASHES + 2];
    double cells;
    uint32_t k;
};

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

static double power(double x, uint32_t n)
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
static double exp_minus(double x)
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
    return x <= 0.125 ? small_one_minus_exp_minus(x) : 1 - exp_minus(x);
}

/* For many cells: the expected fill raised to k, and the second-order effect of its variance. From
 * CHAIN_THROWS on, at most 0.3 % too high (k = 64), 0.01 % for k up to 20. */
static double moments_fpr(double m, uint32_t k, double n)
{
    double load = n / m * k, empty = exp_minus(load), full = one_minus_exp_minus(load);
    double mean = full + empty * load / (2 * m);
    double variance = (empty - (1 + load) * empty * empty) / m / (full * full);
    return power(mean, k) / exp_minus(k * (k - 1) / 2.0 * variance);
}

static double scattered_fpr(uint64_t m, uint32_t k, uint64_t n)
{
    if (n > CHAIN_THROWS / k)
        return moments_fpr((double)m, k, (double)n);
    struct cover c;
    cover_start(&c, k, (double)m);
    cover_throw(&c, n * k);
    return c.uncovered[0];
}

/* The rate of a block by the number of keys in it, for one k; computed as far as it is asked for.
 */
struct block_rates {
    double by_keys[BLOCK_THROWS + 1];
    uint32_t known, room;
    struct cover cover;
};

static void block_rates_start(struct block_rates *rates, uint32_t k)
{
    rates->known = 0;
    rates->room = BLOCK_THROWS / k + 1;
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
static double blocked_fpr(struct block_rates *rates, uint64_t blocks, uint64_t n)
{
    const double negligible = 1e-17;
    double keys = (double)n, others = (double)(blocks - 1);
    double peak = (double)(n / blocks);
    if (blocks == 1 || peak >= 2 * BLOCK_THROWS)
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

/* The chance that an absent key has the digest of one that is there: no filter does better. */
static double digest_fpr(uint64_t n)
{
    return (double)n / 18446744073709551616.0;
}

static double fpr_of_units(uint32_t layout, struct block_rates *rates, uint64_t units, uint32_t k,
                           uint64_t n)
{
    double rate =
        layout == BLOOMFILE_BLOCKED ? blocked_fpr(rates, units, n) : scattered_fpr(units, k, n);
    return fmin(1, rate + (1 - rate) * digest_fpr(n));
}

/* ---- sizes */

#define K_LOOKAHEAD 3 /* size and rate have one valley over k; integers make it bumpy */

/* The least number of units that keeps the rate for this k; limit + 1 if `limit` does not. */
static uint64_t least_units(uint32_t layout, uint64_t n, double p, uint32_t k, uint64_t limit)
{
    struct block_rates rates;
    if (layout == BLOOMFILE_BLOCKED)
        block_rates_start(&rates, k);
    if (limit == 0 || fpr_of_units(layout, &rates, limit, k, n) > p)
        return limit + 1;
    uint64_t high = limit;
    while (high > 1 && fpr_of_units(layout, &rates, high / 2, k, n) <= p)
        high /= 2;
    uint64_t low = high / 2;
    while (high - low > 1) {
        uint64_t middle = low + (high - low) / 2;
        if (fpr_of_units(layout, &rates, middle, k, n) > p)
            low = middle;
        else
            high = middle;
    }
    return high;
}

static uint64_t missing_to_multiple(uint64_t x, uint64_t of)
{
    return (of - x % of) % of;
}

/* A filter folds by every divisor of its units: round up to a multiple of the largest highly
 * composite number (OEIS A002182) that costs at most 0.5 %. */
static uint64_t round_for_folding(uint64_t units)
{
    static const uint32_t highly_composite[] = {
        1,      2,      4,      6,      12,     24,     36,     48,     60,    120,
        180,    240,    360,    720,    840,    1260,   1680,   2520,   5040,  7560,
        10080,  15120,  20160,  25200,  27720,  45360,  50400,  55440,  83160, 110880,
        166320, 221760, 277200, 332640, 498960, 554400, 665280, 720720,
    };
    unsigned i = sizeof highly_composite / sizeof highly_composite[0] - 1;
    while (missing_to_multiple(units, highly_composite[i]) > units / 200)
        i--; /* ends at 1 */
    return units + missing_to_multiple(units, highly_composite[i]);
}

uint64_t sizing_bits(uint32_t layout, uint64_t n, double p, uint32_t *k)
{
    const uint64_t unit_bits = layout == BLOOMFILE_BLOCKED ? PROBE_BLOCK_BITS : 1;
    uint64_t limit = BLOOMFILE_MAX_BITS / unit_bits, best = limit + 1;
    uint32_t best_k = 0;
    if (p <= digest_fpr(n))
        return 0;
    uint32_t first = *k != 0 ? *k : 1, last = *k != 0 ? *k : BLOOMFILE_MAX_HASHES;
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
    uint64_t rounded = round_for_folding(best);
    return (rounded <= limit ? rounded : best) * unit_bits;
}

uint64_t bloomfile_bits_for(uint32_t layout, uint64_t n, double fpr, uint32_t hashes)
{
    if (layout == 0)
        layout = BLOOMFILE_BLOCKED;
    if (!geometry_layout_known(layout) || n < 1 || n > GEOMETRY_MAX_CAPACITY ||
        !(fpr > 0 && fpr < 1) || hashes > BLOOMFILE_MAX_HASHES)
        return 0;
    return sizing_bits(layout, n, fpr, &hashes);
}

double bloomfile_fpr_for(uint32_t layout, uint64_t bits, uint32_t hashes, uint64_t n)
{
    if (layout == 0)
        layout = BLOOMFILE_BLOCKED;
    if (!geometry_layout_known(layout) || !geometry_bits_valid(layout, bits) || hashes < 1 ||
        hashes > BLOOMFILE_MAX_HASHES)
        return NAN;
    struct block_rates rates;
    if (layout == BLOOMFILE_BLOCKED)
        block_rates_start(&rates, hashes);
    uint64_t units = layout == BLOOMFILE_BLOCKED ? bits / PROBE_BLOCK_BITS : bits;
    return fpr_of_units(layout, &rates, units, hashes, n);
}

uint32_t bloomfile_hashes_for(uint32_t layout, uint64_t bits, uint64_t n)
{
    uint32_t best_k = 0;
    double best = 0;
    if (n < 1)
        return 0;
    for (uint32_t k = 1; k <= BLOOMFILE_MAX_HASHES && k <= best_k + K_LOOKAHEAD; k++) {
        double rate = bloomfile_fpr_for(layout, bits, k, n);
        if (isnan(rate))
            return 0;
        if (best_k == 0 || rate < best) {
            best = rate;
            best_k = k;
        }
    }
    return best_k;
}

/* ---- what a body says */

double sizing_measured_fpr(uint32_t layout, uint64_t m, uint32_t k, uint64_t ones,
                           const uint64_t blocks[513])
{
    if (layout != BLOOMFILE_BLOCKED)
        return power((double)ones / (double)m, k);
    double sum = 0;
    for (unsigned i = 1; i <= PROBE_BLOCK_BITS; i++)
        sum += (double)blocks[i] * power((double)i / PROBE_BLOCK_BITS, k);
    return sum / (double)(m / PROBE_BLOCK_BITS);
}

double sizing_estimated_keys(uint32_t layout, uint64_t m, uint32_t k, uint64_t ones)
{
    if (ones >= m)
        return INFINITY;
    double empty = -log1p(-(double)ones / (double)m);
    if (layout == BLOOMFILE_BLOCKED)
        return empty / (1 - power(1 - 1.0 / PROBE_BLOCK_BITS, k)) * (double)(m / PROBE_BLOCK_BITS);
    return empty / -log1p(-1 / (double)m) / k;
}
