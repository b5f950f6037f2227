/* SPDX-License-Identifier: MIT
 *
 * bench-genkeys - lines that look like URLs, about 60 bytes each; equal numbers give equal lines
 */
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "bench.h"

static const char *const words[] = {
    "archive", "blog",   "catalogue", "docs",    "en",      "forum",   "images", "index",
    "library", "market", "news",      "picture", "release", "science", "travel", "wiki",
};

#define WORD(n) words[(n) % (sizeof words / sizeof words[0])]

static int print_line(uint64_t number)
{
    uint64_t r = bloomfile_hash(0, &number, sizeof number);
    return printf("https://www.site-%" PRIu64 ".example/%s/%s/%s-%08" PRIx64 "%s\n", r % 9973,
                  WORD(r >> 16), WORD(r >> 24), WORD(r >> 32), number,
                  (r >> 40) % 2 == 0 ? ".html" : "");
}

int main(int argc, char **argv)
{
    if (argc != 2 && argc != 3) {
        fputs("usage: bench-genkeys COUNT [FIRST]\n"
              "Print the lines number FIRST (1) and on; different numbers, different lines.\n",
              stderr);
        return BENCH_TROUBLE;
    }
    const uint64_t count = bench_number(argv[1]), first = argc == 3 ? bench_number(argv[2]) : 1;
    for (uint64_t i = 0; i < count; i++)
        if (print_line(first + i) < 0)
            bench_fail(errno, "write to standard output");
    bench_flush();
    return 0;
}
