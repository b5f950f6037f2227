/* SPDX-License-Identifier: MIT
 * By trial division. */
#include "combine/divisors.h"

#include <stdlib.h>

uint64_t divisors_least_prime(uint64_t n)
{
    if (n % 2 == 0)
        return 2;
    for (uint64_t p = 3; p <= n / p; p += 2)
        if (n % p == 0)
            return p;
    return n;
}

size_t divisors_count(uint64_t n)
{
    size_t count = 1;
    while (n > 1) {
        uint64_t p = divisors_least_prime(n);
        size_t power = 0;
        for (; n % p == 0; n /= p)
            power++;
        count *= power + 1;
    }
    return count;
}

static int ascending(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

uint64_t *divisors_of(uint64_t n, size_t *count)
{
    uint64_t *list = malloc(divisors_count(n) * sizeof *list);
    if (list == NULL)
        return NULL;
    list[0] = 1;
    *count = 1;
    while (n > 1) {
        const uint64_t p = divisors_least_prime(n);
        const size_t without = *count;
        for (uint64_t power = p; n % p == 0; n /= p, power *= p)
            for (size_t i = 0; i < without; i++)
                list[(*count)++] = list[i] * power;
    }
    qsort(list, *count, sizeof *list, ascending);
    return list;
}
