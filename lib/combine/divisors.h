/* SPDX-License-Identifier: MIT
 * Divisors: the factors that a filter can be folded by. */
#ifndef BLOOMFILE_DIVISORS_H
#define BLOOMFILE_DIVISORS_H

#include <stddef.h>
#include <stdint.h>

/* All divisors of n >= 1, ascending, in memory from malloc(); NULL: there is none left. */
uint64_t *divisors_of(uint64_t n, size_t *count);

/* How many there are. */
size_t divisors_count(uint64_t n);

uint64_t divisors_least_prime(uint64_t n); /* n >= 2 */

#endif
