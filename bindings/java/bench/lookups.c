/* SPDX-License-Identifier: MIT
 *
 * Lookups by the C library, of the digests and the file of Lookups.java, for comparison.
 * lookups FILE COUNT: prints the nanoseconds of a lookup of absent keys, one by one and in batches.
 */
#include <bloomfile_inspect.h>
#include <bloomfile_unstable.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BATCH  1024
#define CHUNK  8192 /* timed together, in less time than a processor is lent out for */
#define ROUNDS 10

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

/* The same numbers as in Lookups.java. */
static uint64_t mix(uint64_t x)
{
    x += 0x9E3779B97F4A7C15;
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9;
    x = (x ^ x >> 27) * 0x94D049BB133111EB;
    return x ^ x >> 31;
}

static double least(int round, double before, double taken)
{
    return round == 0 || taken < before ? taken : before;
}

int main(int argc, char **argv)
{
    bloomfile_filter *f;
    int error;
    if (argc != 3)
        return 2;
    if ((error = bloomfile_open(&f, argv[1], BLOOMFILE_OPEN_VERIFY_FULL)) != 0) {
        fprintf(stderr, "lookups: cannot open %s: %s\n", argv[1], bloomfile_strerror(error));
        return 2;
    }
    size_t count = strtoull(argv[2], NULL, 10) / CHUNK * CHUNK, found = 0;
    uint64_t *digests = malloc(count * sizeof *digests);
    if (digests == NULL || count == 0)
        return 2;
    for (size_t i = 0; i < count; i++)
        digests[i] = mix(~(uint64_t)i);
    size_t chunks = count / CHUNK;
    double *best = malloc(2 * chunks * sizeof *best), one = 0, batch = 0;
    if (best == NULL)
        return 2;
    bool hits[BATCH];
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t c = 0; c < chunks; c++) {
            double start = now();
            for (size_t i = c * CHUNK; i < (c + 1) * CHUNK; i++)
                found += bloomfile_contains_digest(f, digests[i]);
            best[2 * c] = least(round, best[2 * c], now() - start);
        }
        for (size_t c = 0; c < chunks; c++) {
            double start = now();
            for (size_t i = c * CHUNK; i < (c + 1) * CHUNK; i += BATCH)
                found += bloomfile_contains_digests(f, digests + i, BATCH, hits);
            best[2 * c + 1] = least(round, best[2 * c + 1], now() - start);
        }
    }
    for (size_t c = 0; c < chunks; c++) {
        one += best[2 * c];
        batch += best[2 * c + 1];
    }
    printf("%s %.2f %.2f %zu\n", bloomfile_kernel_name(f), one / (double)count,
           batch / (double)count, found / (2 * ROUNDS));
    free(best);
    free(digests);
    bloomfile_close(f);
    return 0;
}
