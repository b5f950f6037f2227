/* SPDX-License-Identifier: MIT */
#include "rocksdb.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "harness/bench.h"
#include "shared.h"

#define POOL_SIZE ((size_t)1 << 20)

static const char *const databases[] = { "plain", "bloom" };
static const char *const files[] = { "plain.sst", "bloom.sst" };

void measure_key(char key[MEASURE_KEY_SIZE], uint64_t number)
{
    char text[MEASURE_KEY_SIZE + 8];
    snprintf(text, sizeof text, "key %012" PRIu64, number % UINT64_C(1000000000000));
    memcpy(key, text, MEASURE_KEY_SIZE);
}

/* Values that do not compress: pieces of random bytes. */
static const char *value_of(uint64_t row)
{
    static char pool[POOL_SIZE + MEASURE_VALUE_SIZE];
    if (pool[0] == '\0')
        for (size_t i = 0; i < sizeof pool; i++)
            pool[i] = (char)(bench_random(i) | 1);
    return pool + row * MEASURE_VALUE_SIZE % POOL_SIZE;
}

/* A filter policy is the table options' when they have taken it. */
static rocksdb_options_t *sst_options(bool filter)
{
    rocksdb_options_t *options = rocksdb_options_create();
    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
    if (filter)
        rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_bloom(10));
    rocksdb_options_set_block_based_table_factory(options, table);
    rocksdb_block_based_options_destroy(table);
    return options;
}

static void add_rows(rocksdb_sstfilewriter_t *sst, bloomfile_builder *builder, uint64_t rows,
                     const char *path)
{
    for (uint64_t i = 0; i < rows; i++) {
        char *error = NULL, key[MEASURE_KEY_SIZE];
        measure_key(key, 2 * i);
        rocksdb_sstfilewriter_put(sst, key, sizeof key, value_of(i), MEASURE_VALUE_SIZE, &error);
        check_engine(error, "write", path);
        if (builder != NULL)
            check_bloomfile(bloomfile_builder_add(builder, key, sizeof key), "add a key for", path);
    }
}

static void finish(rocksdb_sstfilewriter_t *sst, bloomfile_builder *builder, const char *path)
{
    static const char filter[] = "set.bloom";
    char *error = NULL;
    rocksdb_sstfilewriter_finish(sst, &error);
    check_engine(error, "write", path);
    if (builder != NULL)
        check_bloomfile(bloomfile_builder_finish(builder, filter, BLOOMFILE_REPLACE), "write",
                        filter);
}

double measure_write(enum measure_mode mode, uint64_t rows)
{
    const char *path = files[has_rocksdb_filter(mode)];
    char *error = NULL;
    rocksdb_envoptions_t *environment = rocksdb_envoptions_create();
    rocksdb_options_t *options = sst_options(has_rocksdb_filter(mode));
    rocksdb_sstfilewriter_t *sst = rocksdb_sstfilewriter_create(environment, options);
    bloomfile_builder *builder = NULL;
    value_of(0);
    const double begin = bench_seconds();
    if (has_our_filter(mode))
        check_bloomfile(bloomfile_builder_new(&builder, NULL), "begin a filter for", path);
    rocksdb_sstfilewriter_open(sst, path, &error);
    check_engine(error, "create", path);
    add_rows(sst, builder, rows, path);
    finish(sst, builder, path);
    const double seconds = bench_seconds() - begin;
    bloomfile_builder_free(builder);
    rocksdb_sstfilewriter_destroy(sst);
    rocksdb_options_destroy(options);
    rocksdb_envoptions_destroy(environment);
    return seconds;
}

void measure_ingest(void)
{
    rocksdb_options_t *options = rocksdb_options_create();
    rocksdb_ingestexternalfileoptions_t *ingestion = rocksdb_ingestexternalfileoptions_create();
    rocksdb_options_set_create_if_missing(options, 1);
    for (unsigned i = 0; i < 2; i++) {
        char *error = NULL;
        rocksdb_t *db = rocksdb_open(options, databases[i], &error);
        check_engine(error, "create", databases[i]);
        rocksdb_ingest_external_file(db, &files[i], 1, ingestion, &error);
        check_engine(error, "ingest", files[i]);
        rocksdb_close(db);
    }
    rocksdb_ingestexternalfileoptions_destroy(ingestion);
    rocksdb_options_destroy(options);
}
