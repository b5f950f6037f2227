/* SPDX-License-Identifier: MIT
 *
 * The lookups of main.go with the C library: prints the nanoseconds of one.
 */

#include <bloomfile.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

static double now(void)
{
    struct timespec t;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &t);
    return (double)t.tv_sec * 1e9 + (double)t.tv_nsec;
}

int main(int argc, char **argv)
{
    bloomfile_filter *f;
    if (argc != 3 || bloomfile_open(&f, argv[1], 0) != 0)
        return 1;
    uint64_t count = strtoull(argv[2], NULL, 10), found = 0;
    unsigned char *keys = malloc(16 * count);
    if (keys == NULL)
        return 1;
    for (uint64_t i = 0; i < count; i++) {
        uint64_t word[2] = { (-1 - i) * 0x9E3779B97F4A7C15, -1 - i };
        memcpy(keys + 16 * i, word, 16);
    }
    double start = 0;
    for (int round = 0; round < 2; round++) { // the first checks the pages
        start = now();
        for (uint64_t i = 0; i < count; i++)
            found += bloomfile_contains(f, (const char *)keys + 16 * i, 16);
    }
    printf("%.2f\n", (now() - start) / (double)count);
    bloomfile_close(f);
    free(keys);
    return found > 2 * count;
}
