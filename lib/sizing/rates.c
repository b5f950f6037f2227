/* SPDX-License-Identifier: MIT
 * The rates of all layouts: the Markov chain of rates.h, and exponentials that are equal on every
 * machine. */
#include "sizing/rates.h"

#include <math.h>

#include "format/probe.h"
#include "format/ribbon.h"

void rates_cover_start(struct rates_cover *c, uint32_t k, double cells)
{
    *c = (struct rates_cover){ .uncovered = { 1 }, .cells = cells, .k = k };
    for (uint32_t probe = 0; probe < k; probe++) {
        for (uint32_t r = probe + 1; r > 0; r--)
            c->uncovered[r] =
                c->uncovered[r] * (r / cells) + c->uncovered[r - 1] * (1 - (r - 1) / cells);
        c->uncovered[0] = 0;
    }
}

/* Sums outward from the peak of the binomial weights. Above the peak the weights fall, but the
 * rates may rise by many orders of magnitude; as rates are at most 1, the loop ends when the weight
 * alone is negligible relative to the sum. Below the peak both fall. */
double rates_mean(double (*rate)(void *unit, double keys), void *unit, uint64_t n, double others)
{
    const double negligible = 1e-17, keys = (double)n;
    const double peak = (double)(uint64_t)(keys / (1 + others));
    double total = 1, sum = rate(unit, peak), weight = 1;
    for (double j = peak; j < keys && weight > negligible * sum; j++) {
        weight *= (keys - j) / (j + 1) / others;
        total += weight;
        sum += weight * rate(unit, j + 1);
    }
    weight = 1;
    for (double j = peak; j > 0 && weight > negligible; j--) {
        weight *= j / (keys - j + 1) * others;
        total += weight;
        sum += weight * rate(unit, j - 1);
    }
    return sum / total;
}

double rates_power(double x, uint32_t n)
{
    double result = 1;
    for (; n > 0; n /= 2, x *= x)
        if (n % 2 != 0)
            result *= x;
    return result;
}

/* 1 - e^-x for x from 0 to 0.125, by 13 terms of the Taylor series. */
static double small_one_minus_exp_minus(double x)
{
    double sum = 1;
    for (int i = 13; i > 1; i--)
        sum = 1 - x / i * sum;
    return x * sum;
}

/* e^-x for x >= 0, by halving x until the series is exact, and squaring the result as often. */
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

double rates_one_minus_exp_minus(double x)
{
    return x <= 0.125 ? small_one_minus_exp_minus(x) : 1 - rates_exp_minus(x);
}

/* ---- rates of classic and counting, whose positions lie anywhere in the body */

/* For more probes, the rate is computed from the moments of the fill. */
#define CHAIN_THROWS 2048

/* The variance of the fill, divided by the square of its mean. */
static double fill_variance(double m, double load, double full)
{
    const double empty = rates_exp_minus(load);
    return (empty - (1 + load) * empty * empty) / m / (full * full);
}

/* The rate for many probes: the expected fill raised to k, and the second-order effect of the
 * fill's variance. Compared with the chain from CHAIN_THROWS probes on, it is at most 0.32% too
 * high (k = 64, three probes a cell), 0.011% for k up to 20, 0.0006% for k up to 7. */
static double moments_fpr(double m, uint32_t k, double n)
{
    double load = n / m * k, empty = rates_exp_minus(load), full = rates_one_minus_exp_minus(load);
    double mean = full + empty * load / (2 * m);
    return rates_power(mean, k) / rates_exp_minus(k * (k - 1) / 2.0 * fill_variance(m, load, full));
}

/* The variance of fill^k, which is nearly log-normal, divided by the square of its mean. */
static double cell_variance(uint64_t m, uint32_t k, uint64_t n)
{
    double load = (double)n / (double)m * k;
    double full = rates_one_minus_exp_minus(load);
    return full > 0 ? expm1(k * k * fmax(0, fill_variance((double)m, load, full))) : 0;
}

static double cell_expected(struct sizing_memo *unused, uint64_t m, uint32_t k, uint64_t n)
{
    (void)unused;
    if (n > CHAIN_THROWS / k)
        return moments_fpr((double)m, k, (double)n);
    struct rates_cover c;
    rates_cover_start(&c, k, (double)m);
    rates_cover_throw(&c, n * k);
    return c.uncovered[0];
}

static double cell_measured(uint64_t m, uint32_t k, uint64_t ones, const uint64_t blocks[513])
{
    (void)blocks;
    return rates_power((double)ones / (double)m, k);
}

static double cell_estimated_keys(uint64_t m, uint32_t k, uint64_t ones)
{
    if (ones >= m)
        return INFINITY;
    double empty = -log1p(-(double)ones / (double)m);
    return empty / -log1p(-1 / (double)m) / k;
}

/* The limit for many bits: (fill)^k. */
static double cell_after(uint64_t m, uint32_t k, uint64_t ones, const uint64_t blocks[513],
                         uint64_t more)
{
    (void)blocks;
    double empty = 1 - (double)ones / (double)m;
    return rates_power(1 - empty * rates_exp_minus((double)more / (double)m * k), k);
}

static double cell_standard_error(uint64_t m, uint32_t k, uint64_t ones, const uint64_t blocks[513])
{
    if (ones == 0)
        return 0;
    return cell_measured(m, k, ones, blocks) * k *
           sqrt((double)(m - ones) / (double)ones / (double)m);
}

const struct sizing rates_of_cells = {
    .expected = cell_expected,
    .variance = cell_variance,
    .measured = cell_measured,
    .estimated_keys = cell_estimated_keys,
    .after = cell_after,
    .standard_error = cell_standard_error,
};

/* ---- rates of the blocked layout: the mean over blocks */

/* Starts the memo with an empty block. Keys have k probes, absent keys `absent` probes. */
static void block_start(struct sizing_memo *rates, uint32_t k, uint32_t absent)
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

static double block_mean(struct sizing_memo *rates, uint64_t blocks, uint64_t n)
{
    if (blocks == 1 || n / blocks >= (uint64_t)2 * SIZING_BLOCK_THROWS)
        return block_rate(rates, (double)(n / blocks));
    return rates_mean(block_rate, rates, n, (double)(blocks - 1));
}

static double block_expected(struct sizing_memo *memo, uint64_t blocks, uint32_t k, uint64_t n)
{
    if (memo->cover.k != k)
        block_start(memo, k, k);
    return block_mean(memo, blocks, n);
}

static double block_rate_by_keys(void *memo, double keys)
{
    return block_rate(memo, keys) * keys;
}

/* The part of a block's variance that is linear in its number of keys. It cancels in the mean over
 * blocks: a key that is not in one block is in another. */
static double linear_variance(struct sizing_memo *rates, uint64_t blocks, uint64_t n, double rate)
{
    const double others = (double)(blocks - 1), keys = (double)n / (double)blocks;
    const double product = rates_mean(block_rate_by_keys, rates, n, others) - keys * rate;
    return product * product / (keys * others / (double)blocks);
}

/* The mean of the square of a block's rate is the probability that two absent keys of the block are
 * both false positives: a chain for 2k probes computes it. */
static double block_variance(uint64_t blocks, uint32_t k, uint64_t n)
{
    struct sizing_memo memo;
    block_start(&memo, k, k);
    const double rate = block_mean(&memo, blocks, n);
    if (rate <= 0 || rate >= 1)
        return 0;
    const double linear = blocks > 1 ? linear_variance(&memo, blocks, n, rate) : 0;
    block_start(&memo, k, 2 * k);
    const double square = block_mean(&memo, blocks, n);
    return fmax(0, (square - linear) / rate / rate - 1) / (double)blocks;
}

static double block_measured(uint64_t m, uint32_t k, uint64_t ones, const uint64_t blocks[513])
{
    (void)ones;
    double sum = 0;
    for (unsigned i = 1; i <= PROBE_BLOCK_BITS; i++)
        sum += (double)blocks[i] * rates_power((double)i / PROBE_BLOCK_BITS, k);
    return sum / (double)(m / PROBE_BLOCK_BITS);
}

/* Estimates from the average fill of all blocks. */
static double block_estimated_keys(uint64_t m, uint32_t k, uint64_t ones)
{
    if (ones >= m)
        return INFINITY;
    double empty = -log1p(-(double)ones / (double)m);
    return empty / (1 - rates_power(1 - 1.0 / PROBE_BLOCK_BITS, k)) *
           (double)(m / PROBE_BLOCK_BITS);
}

/* Adds `weight` times the chain's initial distribution for a block with `ones` bits set. */
static void block_start_from(struct rates_cover *sum, uint32_t k, unsigned ones, double weight)
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

/* This is exact: a mean of the chains of all blocks, weighted by their set bits. */
static double block_after(uint64_t m, uint32_t k, uint64_t unused, const uint64_t blocks[513],
                          uint64_t more)
{
    (void)unused;
    const uint64_t count = m / PROBE_BLOCK_BITS;
    struct sizing_memo memo;
    block_start(&memo, k, k);
    for (uint32_t u = 0; u <= k; u++)
        memo.cover.uncovered[u] = 0;
    for (unsigned ones = 0; ones <= PROBE_BLOCK_BITS; ones++)
        if (blocks[ones] != 0)
            block_start_from(&memo.cover, k, ones, (double)blocks[ones] / (double)count);
    return block_mean(&memo, count, more);
}

static double block_standard_error(uint64_t m, uint32_t k, uint64_t ones,
                                   const uint64_t blocks[513])
{
    const double mean = block_measured(m, k, ones, blocks);
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
    .expected = block_expected,
    .variance = block_variance,
    .measured = block_measured,
    .estimated_keys = block_estimated_keys,
    .after = block_after,
    .standard_error = block_standard_error,
};

/* ---- rates of ribbon: the mean over pages, whose numbers of columns depend on their numbers of
 * keys */

static double power_of_half(unsigned columns)
{
    return 1 / (double)((uint64_t)1 << columns);
}

/* The rate of a page with that many groups: the mean of 2^-columns over all groups but the last. */
static double page_rate(unsigned groups, unsigned words)
{
    if (groups > words / 2)
        return 1;
    const uint32_t shape = ribbon_shape(groups, 0, words);
    const double first = groups - 1, few = fmin(ribbon_few(shape), first);
    const double most = power_of_half(ribbon_fewest(shape));
    return (few * most + (first - few) * most / 2) / first;
}

/* The mean number of groups that a page needs beyond ribbon_first_groups(), because none of the 16
 * seeds has a solution with fewer. Measured for every 1000 keys, interpolated in between. */
static double further_groups(double keys)
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
    const double further = further_groups(keys), whole = (double)(unsigned)further;
    const unsigned groups = ribbon_first_groups((uint64_t)keys, words) + (unsigned)whole;
    const double now = page_rate(groups, words), next = page_rate(groups + 1, words);
    return now + (next - now) * fmin(further - whole, 1);
}

static double rate_in_page(void *words, double keys)
{
    return rate_of_keys(keys, *(const unsigned *)words);
}

/* The mean rate of a page that has `lines` of the `all` lines. */
static double ribbon_mean(unsigned lines, uint64_t all, uint64_t n)
{
    unsigned words = ribbon_words(lines);
    if (lines == all)
        return rate_of_keys((double)n, words);
    return rates_mean(rate_in_page, &words, n, (double)(all - lines) / lines);
}

static double ribbon_expected(struct sizing_memo *unused, uint64_t lines, uint32_t k, uint64_t n)
{
    (void)unused, (void)k;
    const uint64_t whole = lines / RIBBON_LINES * RIBBON_LINES, rest = lines - whole;
    double sum = 0;
    if (n / (lines / RIBBON_LINES + 1) > (uint64_t)2 * RIBBON_GROUPS_MOST * RIBBON_SLOTS)
        return 1;
    if (whole > 0)
        sum += (double)whole * ribbon_mean(RIBBON_LINES, lines, n);
    if (rest > 0)
        sum += (double)rest * ribbon_mean((unsigned)rest, lines, n);
    return sum / (double)lines;
}

/* groups[c] is the weight of the lookups that compare c columns. */
static double ribbon_measured(uint64_t m, uint32_t k, uint64_t ones, const uint64_t groups[513])
{
    (void)m, (void)k, (void)ones;
    double sum = 0, all = 0;
    for (unsigned columns = RIBBON_COLUMNS_MOST + 1; columns-- > 0;) {
        sum += (double)groups[columns] * power_of_half(columns);
        all += (double)groups[columns];
    }
    return sum / all;
}

/* Keys cannot be estimated, because half of the bits are set for any number of keys. */
const struct sizing rates_of_ribbons = {
    .expected = ribbon_expected,
    .measured = ribbon_measured,
};
