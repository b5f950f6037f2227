/* SPDX-License-Identifier: MIT
 *
 * bench-split - how fast lines are split, a piece at a time, each in the cache as if it had just
 * been read; beside memchr() line by line, and beside reading the piece and nothing else
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tools/shared/split.h"
#include "bench.h"

#define TURNS      15 /* for each of them */
#define PIECE      (1u << 18)
#define PIECES     64 /* all different, so that no processor knows them by heart */
#define SAMPLES    (TURNS * PIECES)
#define BATCH      1024
#define LINE       60 /* bytes, about */
#define LEAST_RATE 8.0

static uint8_t text[PIECES][PIECE];
static struct bloomfile_key keys[BATCH];

/* Lines of LINE / 2 to 3 * LINE / 2 bytes, each with its end. */
static void make_text(void)
{
    for (uint64_t i = 0, number = 0; i < PIECES; i++) {
        memset(text[i], 'x', PIECE);
        for (size_t at = 0; at < PIECE; number++) {
            at += LINE / 2 + bloomfile_hash(0, &number, sizeof number) % LINE;
            text[i][at < PIECE ? at - 1 : PIECE - 1] = '\n';
        }
    }
}

static size_t by_split(const uint8_t *piece)
{
    struct split split = { .at = piece, .end = piece + PIECE, .mark = '\n' };
    size_t lines = 0, n;
    while ((n = split_next(&split, keys, BATCH)) > 0)
        lines += n;
    return lines;
}

static size_t by_memchr(const uint8_t *piece)
{
    size_t lines = 0;
    for (const uint8_t *at = piece, *end = piece + PIECE; at < end; lines++) {
        const uint8_t *found = memchr(at, '\n', (size_t)(end - at));
        keys[lines % BATCH] = (struct bloomfile_key){ at, (size_t)(found - at) };
        at = found + 1;
    }
    return lines;
}

static size_t by_reading(const uint8_t *piece)
{
    typedef uint64_t words __attribute__((vector_size(64)));
    words sum = { 0 }, next;
    for (size_t at = 0; at < PIECE; at += sizeof next) {
        memcpy(&next, piece + at, sizeof next);
        sum += next;
    }
    return sum[0] + sum[1] + sum[2] + sum[3] + sum[4] + sum[5] + sum[6] + sum[7];
}

static struct way {
    const char *name;
    size_t (*run)(const uint8_t *piece);
    double rates[SAMPLES], to_memchr[SAMPLES]; /* of single pieces */
    size_t result;                             /* summed */
} ways[] = {
    { .name = "reading alone", .run = by_reading },
    { .name = "memchr(), line by line", .run = by_memchr },
    { .name = "split_next()", .run = by_split },
};
enum {
    READING,
    MEMCHR,
    SPLIT,
    WAYS
};

static void measure(struct way *way, unsigned sample)
{
    static uint8_t piece[PIECE];
    memcpy(piece, text[sample % PIECES], PIECE);
    double start = bench_seconds();
    way->result += way->run(piece);
    way->rates[sample] = PIECE / (bench_seconds() - start) / 1e9;
}

int main(void)
{
    bool missed = false;
    make_text();
    for (unsigned sample = 0; sample < SAMPLES; sample++) {
        for (unsigned i = 0; i < WAYS; i++)
            measure(&ways[i], sample);
        for (unsigned i = 0; i < WAYS; i++)
            ways[i].to_memchr[sample] = ways[i].rates[sample] / ways[MEMCHR].rates[sample];
    }
    if (ways[SPLIT].result != ways[MEMCHR].result)
        bench_fail(0, "find the lines that memchr() finds");

    printf("lines of %.1f bytes in pieces of %u KiB, one thread; medians of %u pieces:\n\n",
           (double)SAMPLES * PIECE / (double)ways[SPLIT].result, PIECE >> 10, SAMPLES);
    printf("| way                    |   GB/s | to memchr() | target | verdict |\n"
           "|------------------------|-------:|------------:|--------|---------|\n");
    for (unsigned i = 0; i < WAYS; i++) {
        double rate = bench_median(ways[i].rates, SAMPLES);
        bool judged = i == SPLIT, good = rate >= LEAST_RATE;
        missed = missed || (judged && !good);
        printf("| %-22s | %6.2f | %11.2f | %-6s | %-7s |\n", ways[i].name, rate,
               bench_median(ways[i].to_memchr, SAMPLES), judged ? ">= 8" : "",
               !judged ? ""
               : good  ? "ok"
                       : "MISSED");
    }
    bench_flush();
    return missed ? BENCH_MISSED : 0;
}
