/* SPDX-License-Identifier: MIT
 * False positives of the filters of data blocks, without a database. */
#include <bloomfile_inspect.h>
#include <bloomfile_view.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "harness/bench.h"
#include "harness/table.h"
#include "leveldb.h"

static const int group_sizes[] = { 20, 30, 40 };

/* The expected rate of a filter with k in its last byte, or with the trailer of bloomfile. */
static double theory(const char *bytes, size_t size, uint64_t keys)
{
    struct bloomfile_view view;
    struct bloomfile_size s = BLOOMFILE_SIZE_INIT;
    const bool ours = bloomfile_view_open(&view, 0, bytes, size) == 0;
    s.layout = BLOOMFILE_LAYOUT_CLASSIC;
    s.bits = 8 * (ours ? view.size : size - 1);
    s.hashes = (uint8_t)bytes[ours ? view.size + 3 : size - 1];
    s.keys = keys;
    bench_check(bloomfile_size_for(&s), "compute a rate");
    return s.fpr;
}

/* Makes a filter of every other key, and looks up the keys between them. */
static size_t try_group(struct subject *s, const struct key *keys, int size, double *expected)
{
    const char **present = bench_memory(malloc((size_t)size * sizeof *present));
    size_t *sizes = bench_memory(malloc((size_t)size * sizeof *sizes)), filter_size;
    for (int i = 0; i < size; i++) {
        present[i] = keys[2 * i].text;
        sizes[i] = KEY_SIZE;
    }
    char *filter = bench_memory(subject_create_filter(s, present, sizes, size, &filter_size));
    for (int i = 0; i < size; i++)
        subject_key_may_match(s, keys[2 * i + 1].text, KEY_SIZE, filter, filter_size);
    *expected = theory(filter, filter_size, (uint64_t)size);
    free(filter);
    free(sizes);
    free(present);
    return filter_size;
}

static void try_groups(enum subject_kind kind, int bits, const struct key *keys, int size,
                       uint64_t count)
{
    struct subject s = subject_new(kind, bits);
    double expected = 0;
    size_t bytes = 0;
    for (uint64_t i = 0; i < count; i++)
        bytes = try_group(&s, keys + 2 * i * (uint64_t)size, size, &expected);
    table_row("%d|%s|%d|%zu|%.2f %%|%.2f %%|%.2f", size, subject_label(&s), bits, bytes,
              100 * subject_rate(&s), 100 * expected, subject_rate(&s) / expected);
    subject_free(&s);
}

void measure_filters(const struct measure_options *o)
{
    const int bits = (int)o->bits_per_key;
    printf("### bench-leveldb: %" PRIu64 " filters of a size, %s keys\n\n", o->filters,
           o->sequential == 0 ? "random" : "sequential");
    table_start(">keys|filters|>bits a key|>bytes|>false positives|>in theory|>ratio");
    for (size_t i = 0; i < sizeof group_sizes / sizeof group_sizes[0]; i++) {
        const int size = group_sizes[i];
        struct key *keys = keys_make(2 * (size_t)size * o->filters, o->sequential == 0);
        try_groups(SUBJECT_BUILTIN, bits, keys, size, o->filters);
        try_groups(SUBJECT_BLOOMFILE, bits, keys, size, o->filters);
        /* The trailer has 8 bytes, LevelDB's k has one: 56 bits to make the sizes equal. */
        try_groups(SUBJECT_BUILTIN, bits + 56 / size, keys, size, o->filters);
        free(keys);
    }
    table_end();
}
