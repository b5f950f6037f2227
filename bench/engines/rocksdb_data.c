/* SPDX-License-Identifier: MIT
 * The rows: an SST file with RocksDB's filters and one without, a database of each, and ours. */
#include "rocksdb.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/bench.h"
#include "harness/residence.h"
#include "shared.h"

#define POOL_SIZE ((size_t)1 << 20)

static const char *const databases[] = { "plain", "bloom" };
static const char *const files[] = { "plain.sst", "bloom.sst" };
static const char filter[] = "set.bloom";
static uint32_t layout = BLOOMFILE_BLOCKED;

void measure_ribbons(void)
{
    layout = BLOOMFILE_RIBBON;
}

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

/* Both of the rate of 10 bits a key in RocksDB's Bloom filter. */
static rocksdb_filterpolicy_t *policy(void)
{
    return layout == BLOOMFILE_RIBBON ? rocksdb_filterpolicy_create_ribbon(10)
                                      : rocksdb_filterpolicy_create_bloom(10);
}

/* For files with RocksDB's filters, which are used if there is a policy, of whichever size; a block
 * cache for readers. A policy is the table options' when they have taken it. */
static rocksdb_options_t *options_for(bool filters, size_t cache_size)
{
    rocksdb_options_t *options = rocksdb_options_create();
    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
    if (filters)
        rocksdb_block_based_options_set_filter_policy(table, policy());
    if (cache_size > 0) {
        rocksdb_cache_t *cache = rocksdb_cache_create_lru(cache_size);
        rocksdb_block_based_options_set_block_cache(table, cache);
        rocksdb_cache_destroy(cache);
    }
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
    rocksdb_options_t *options = options_for(has_rocksdb_filter(mode), 0);
    rocksdb_sstfilewriter_t *sst = rocksdb_sstfilewriter_create(environment, options);
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    bloomfile_builder *builder = NULL;
    params.layout = layout;
    value_of(0);
    const double begin = bench_seconds();
    if (has_our_filter(mode))
        check_bloomfile(bloomfile_builder_new(&builder, &params), "begin a filter for", path);
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

/* ---- as a reader has them */

/* As RocksDB does with its own filters, ours is read when it is opened. */
struct opened measure_open(enum measure_mode mode, uint64_t rows)
{
    struct opened o = { .options = options_for(has_rocksdb_filter(mode),
                                               ((size_t)64 << 20) + rows * 256) };
    const char *path = databases[has_rocksdb_filter(mode)], *family = "default";
    char *error = NULL;
    const uint64_t bytes = residence_read_bytes();
    const double begin = bench_seconds();
    o.guard.db = rocksdb_open_for_read_only_column_families(
        o.options, path, 1, &family, (const rocksdb_options_t *const *)&o.options, &o.guard.rows, 0,
        &error);
    check_engine(error, "open", path);
    if (has_our_filter(mode))
        check_bloomfile(bloomfile_open(&o.guard.filter, filter, BLOOMFILE_PREFAULT), "open",
                        filter);
    o.seconds = bench_seconds() - begin;
    o.read_bytes = residence_read_bytes() - bytes;
    o.guard.options = rocksdb_readoptions_create();
    return o;
}

void measure_close(struct opened *o)
{
    bloomfile_close(o->guard.filter);
    rocksdb_readoptions_destroy(o->guard.options);
    rocksdb_column_family_handle_destroy(o->guard.rows);
    rocksdb_close(o->guard.db);
    rocksdb_options_destroy(o->options);
}

void measure_warm(const struct opened *o)
{
    char *error = NULL;
    rocksdb_iterator_t *at = rocksdb_create_iterator(o->guard.db, o->guard.options);
    for (rocksdb_iter_seek_to_first(at); rocksdb_iter_valid(at); rocksdb_iter_next(at))
        ;
    rocksdb_iter_get_error(at, &error);
    check_engine(error, "read", "the rows");
    rocksdb_iter_destroy(at);
}

static uint64_t file_bytes(const char *name)
{
    struct stat status;
    bench_call(stat(name, &status), "find the size of a file");
    return (uint64_t)status.st_size;
}

uint64_t measure_filter_bytes(enum measure_mode mode)
{
    uint64_t bytes = 0;
    if (has_rocksdb_filter(mode))
        bytes += file_bytes(files[1]) - file_bytes(files[0]);
    if (has_our_filter(mode))
        bytes += file_bytes(filter);
    return bytes;
}

uint64_t measure_process_bytes(const struct opened *o)
{
    uint64_t bytes;
    if (rocksdb_property_int(o->guard.db, "rocksdb.estimate-table-readers-mem", &bytes) != 0)
        bench_fail(0, "ask RocksDB for the memory of its tables");
    return bytes;
}
