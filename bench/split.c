/* SPDX-License-Identifier: MIT
 *
 * bench-split - how fast lines are split, a piece at a time, each in the cache as if it had just
 * been read; beside memchr() line by line, and beside reading the piece and nothing else
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../tools/shared/split.h"
#include "harness/program.h"
#include "harness/turns.h"

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

enum {
    READING,
    MEMCHR,
    SPLIT,
    WAYS
};

static const struct {
    const char *name;
    size_t (*run)(const uint8_t *piece);
} ways[WAYS] = {
    [READING] = { "reading alone", by_reading },
    [MEMCHR] = { "memchr(), line by line", by_memchr },
    [SPLIT] = { "split_next()", by_split },
};

static size_t results[WAYS]; /* summed */

/* One piece after the other. */
static void measure(size_t way, double *rate)
{
    static uint8_t piece[PIECE];
    static unsigned sample[WAYS];
    memcpy(piece, text[sample[way]++ % PIECES], PIECE);
    const double start = bench_seconds();
    results[way] += ways[way].run(piece);
    *rate = PIECE / (bench_seconds() - start) / 1e9;
}

static void run(void)
{
    make_text();
    struct turns t = turns_take(WAYS, 1, SAMPLES, measure);
    if (results[SPLIT] != results[MEMCHR])
        bench_fail(0, "find the lines that memchr() finds");
    printf("lines of %.1f bytes in pieces of %u KiB, one thread; medians of %u pieces:\n\n",
           (double)SAMPLES * PIECE / (double)results[SPLIT], PIECE >> 10, SAMPLES);
    table_start("way|>GB/s|>to memchr()|target|verdict");
    for (size_t i = 0; i < WAYS; i++) {
        const double rate = turns_median(&t, i, 0);
        table_cells("%s|%.2f|%.2f|", ways[i].name, rate, turns_ratio(&t, i, MEMCHR, 0));
        if (i == SPLIT)
            table_row(">= %g|%s", LEAST_RATE, table_verdict(rate >= LEAST_RATE));
        else
            table_row("|");
    }
    table_end();
    free(t.values);
}

const struct benchmark benchmark = {
    .what = "Splits text into lines in all ways.\n",
    .run = run,
};
