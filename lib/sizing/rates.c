/* SPDX-License-Identifier: MIT
 * The rate of a Bloom filter: the chain of at most k + 1 states, and functions of libm that agree
 * on every machine. */
#include "sizing/rates.h"

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

/* Summed outward from the peak. Above it the weights fall, while the rates may rise by many orders
 * of magnitude: what is left out is compared with the sum, not with the weights. */
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

double rates_one_minus_exp_minus(double x)
{
    return x <= 0.125 ? small_one_minus_exp_minus(x) : 1 - rates_exp_minus(x);
}
