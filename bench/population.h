/* SPDX-License-Identifier: MIT
 *
 * The false-positive rate of a population of filters: same parameters, each with keys and a seed of
 * its own.
 *
 * One filter is not enough to test a formula. Its rate differs from the expected one by the chance
 * of its own fill, and this does not average out however many absent keys it is asked: at 2 bits a
 * key and k = 5, 10^7 absent keys pin the rate of one filter of 80 000 keys down to 0.02 %, while
 * the filters themselves scatter by 0.3 %. So both kinds of chance enter the standard error:
 *
 *     error^2 = rate * (1 - rate) / lookups  +  variance of the filters' exact rates / filters
 */
#ifndef BLOOMFILE_BENCH_POPULATION_H
#define BLOOMFILE_BENCH_POPULATION_H

#include <bloomfile.h>

struct population {
    struct bloomfile_params params; /* the seed is set for each filter */
    uint64_t filters;
    uint64_t keys;   /* in each filter */
    uint64_t absent; /* other keys that each is asked for; with `keys` less than 2^32 */
};

struct population_rates {
    uint64_t bits;
    uint32_t hashes;
    double measured; /* false positives / absent keys asked for */
    double error;    /* its standard error */
    double exact;    /* mean of what bloomfile_measure() says of each filter */
    double exact_error;
};

/* Builds the filters in memory, one after the other. Ends the program if one of them does not know
 * a key of its own. */
struct population_rates population_measure(const struct population *p);

#endif
