/* SPDX-License-Identifier: MIT */
#include "sstable_sample.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/bench.h"

/* Even numbers are present: row r of table t has 2 * (r * tables + t). */
static void print_key(uint64_t number, char key[SAMPLE_KEY + 1])
{
    snprintf(key, SAMPLE_KEY + 1, "%0*" PRIu64, SAMPLE_KEY, number % UINT64_C(10000000000000000));
}

void sample_key(const struct sample *s, uint64_t number, bool present, char key[SAMPLE_KEY + 1])
{
    print_key(2 * (number % (s->rows * s->tables)) + !present, key);
}

/* Hexadecimal digits, so compression saves something less than half. */
static void fill_value(uint64_t number, char value[SAMPLE_VALUE])
{
    for (size_t i = 0; i < SAMPLE_VALUE; i += 16) {
        char digits[17];
        const size_t size = SAMPLE_VALUE - i < 16 ? SAMPLE_VALUE - i : 16;
        snprintf(digits, sizeof digits, "%016" PRIx64, bloomfile_hash(i, &number, sizeof number));
        memcpy(value + i, digits, size);
    }
}

struct stored {
    char key[SAMPLE_KEY + 1], value[SAMPLE_VALUE];
};

static void fill_table(const struct sample *s, uint64_t table, struct stored *stored,
                       struct row *rows)
{
    for (uint64_t r = 0; r < s->rows; r++) {
        const uint64_t number = 2 * (r * s->tables + table);
        print_key(number, stored[r].key);
        fill_value(number, stored[r].value);
        rows[r] = (struct row){ .key = { stored[r].key, SAMPLE_KEY },
                                .value = { stored[r].value, SAMPLE_VALUE } };
    }
}

void sample_make(const struct sample *s, mtbl_compression_type compression)
{
    struct table_options beside = { .compression = compression, .fpr = 0.01 }, inside = beside;
    struct stored *stored = bench_memory(calloc(s->rows, sizeof *stored));
    struct row *rows = bench_memory(calloc(s->rows, sizeof *rows));
    inside.embedded = true;
    for (uint64_t table = 0; table < s->tables; table++) {
        fill_table(s, table, stored, rows);
        tablet_put(SIDECAR, &(struct rows){ s->rows, rows }, &beside);
        tablet_put(EMBEDDED, &(struct rows){ s->rows, rows }, &inside);
    }
    free(rows);
    free(stored);
}
