/* SPDX-License-Identifier: MIT
 * Rows in RocksDB: SST files with and without RocksDB's filters, a database of each file, and a
 * filter of bloomfile. */
#include "rocksdb_rows.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "harness/bench.h"
#include "harness/residence.h"
#include "shared.h"

#define ROW_KEY_SIZE   16
#define ROW_VALUE_SIZE 100

static uint64_t rows;
static bool ribbon;

void rows_set(uint64_t count, bool with_ribbon)
{
    rows = count;
    ribbon = with_ribbon;
}

#define POOL_SIZE ((size_t)1 << 20)

static const char *const databases[] = { "plain", "bloom" };
static const char *const sst_files[] = { "plain.sst", "bloom.sst" };
static const char filter[] = "set.bloom";

/* Row i has the key of 2 * i, as text that sorts like the number. Keys of odd numbers are absent
 * and lie between rows. */
static void print_key(char key[ROW_KEY_SIZE], uint64_t number)
{
    char text[ROW_KEY_SIZE + 8];
    snprintf(text, sizeof text, "key %012" PRIu64, number % UINT64_C(1000000000000));
    memcpy(key, text, ROW_KEY_SIZE);
}

/* Returns a value that does not compress: a piece of random bytes. */
static const char *value_of(uint64_t row)
{
    static char pool[POOL_SIZE + ROW_VALUE_SIZE];
    if (pool[0] == '\0')
        for (size_t i = 0; i < sizeof pool; i++)
            pool[i] = (char)(bench_random(i) | 1);
    return pool + row * ROW_VALUE_SIZE % POOL_SIZE;
}

/* Both policies have the rate of RocksDB's Bloom filter with 10 bits a key. */
static rocksdb_filterpolicy_t *policy(void)
{
    return ribbon ? rocksdb_filterpolicy_create_ribbon(10) : rocksdb_filterpolicy_create_bloom(10);
}

/* Options for files with or without RocksDB's filters, and a block cache for readers. RocksDB uses
 * the filters of a file with any policy. The table options own the policy. */
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

static void add_rows(rocksdb_sstfilewriter_t *sst, bloomfile_builder *builder, const char *path)
{
    for (uint64_t i = 0; i < rows; i++) {
        char *error = NULL, key[ROW_KEY_SIZE];
        print_key(key, 2 * i);
        rocksdb_sstfilewriter_put(sst, key, sizeof key, value_of(i), ROW_VALUE_SIZE, &error);
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
    struct bloomfile_destination to = bloomfile_to_path(filter, BLOOMFILE_TO_REPLACE);
    if (builder != NULL)
        check_bloomfile(bloomfile_builder_write(builder, &to), "write", filter);
}

double rows_write(enum filter_mode mode)
{
    const char *path = sst_files[mode & ROCKSDB_FILTER];
    char *error = NULL;
    rocksdb_envoptions_t *environment = rocksdb_envoptions_create();
    rocksdb_options_t *options = options_for((mode & ROCKSDB_FILTER) != 0, 0);
    rocksdb_sstfilewriter_t *sst = rocksdb_sstfilewriter_create(environment, options);
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    bloomfile_builder *builder = NULL;
    params.layout = ribbon ? BLOOMFILE_LAYOUT_RIBBON : BLOOMFILE_LAYOUT_BLOCKED;
    value_of(0);
    const double begin = bench_seconds();
    if (mode & OUR_FILTER)
        check_bloomfile(bloomfile_builder_new(&builder, &params), "begin a filter for", path);
    rocksdb_sstfilewriter_open(sst, path, &error);
    check_engine(error, "create", path);
    add_rows(sst, builder, path);
    finish(sst, builder, path);
    const double seconds = bench_seconds() - begin;
    bloomfile_builder_free(builder);
    rocksdb_sstfilewriter_destroy(sst);
    rocksdb_options_destroy(options);
    rocksdb_envoptions_destroy(environment);
    return seconds;
}

void rows_ingest(void)
{
    rocksdb_options_t *options = rocksdb_options_create();
    rocksdb_ingestexternalfileoptions_t *ingestion = rocksdb_ingestexternalfileoptions_create();
    rocksdb_options_set_create_if_missing(options, 1);
    for (unsigned i = 0; i < 2; i++) {
        char *error = NULL;
        rocksdb_t *db = rocksdb_open(options, databases[i], &error);
        check_engine(error, "create", databases[i]);
        rocksdb_ingest_external_file(db, &sst_files[i], 1, ingestion, &error);
        check_engine(error, "ingest", sst_files[i]);
        rocksdb_close(db);
    }
    rocksdb_ingestexternalfileoptions_destroy(ingestion);
    rocksdb_options_destroy(options);
}

/* ---- reading */

/* Reads bloomfile's filter when it is opened, as RocksDB does with its own filters. */
struct opened rows_open(enum filter_mode mode)
{
    struct opened o = { .options = options_for((mode & ROCKSDB_FILTER) != 0,
                                               ((size_t)64 << 20) + rows * 256) };
    const char *path = databases[mode & ROCKSDB_FILTER], *family = "default";
    char *error = NULL;
    const uint64_t bytes = residence_read_bytes();
    const double begin = bench_seconds();
    o.guard.db = rocksdb_open_for_read_only_column_families(
        o.options, path, 1, &family, (const rocksdb_options_t *const *)&o.options, &o.guard.rows, 0,
        &error);
    check_engine(error, "open", path);
    if (mode & OUR_FILTER)
        check_bloomfile(bloomfile_open(&o.guard.filter, filter, BLOOMFILE_OPEN_PREFAULT), "open",
                        filter);
    o.seconds = bench_seconds() - begin;
    o.read_bytes = residence_read_bytes() - bytes;
    o.guard.options = rocksdb_readoptions_create();
    return o;
}

void rows_close(struct opened *o)
{
    bloomfile_close(o->guard.filter);
    rocksdb_readoptions_destroy(o->guard.options);
    rocksdb_column_family_handle_destroy(o->guard.rows);
    rocksdb_close(o->guard.db);
    rocksdb_options_destroy(o->options);
}

void rows_warm(const struct opened *o)
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

uint64_t rows_filter_bytes(enum filter_mode mode)
{
    uint64_t bytes = 0;
    if (mode & ROCKSDB_FILTER)
        bytes += file_bytes(sst_files[1]) - file_bytes(sst_files[0]);
    if (mode & OUR_FILTER)
        bytes += file_bytes(filter);
    return bytes;
}

uint64_t rows_process_bytes(const struct opened *o)
{
    uint64_t bytes;
    if (rocksdb_property_int(o->guard.db, "rocksdb.estimate-table-readers-mem", &bytes) != 0)
        bench_fail(0, "ask RocksDB for the memory of its tables");
    return bytes;
}

/* ---- gets */

/* Chooses random keys, of rows or between rows. Each seed gives other keys. */
struct keys keys_choose(uint64_t count, bool present, uint64_t seed)
{
    struct keys keys = { bench_memory(malloc(count * ROW_KEY_SIZE)),
                         bench_memory(calloc(count, sizeof *keys.key)), count };
    for (uint64_t i = 0; i < count; i++) {
        char *bytes = keys.bytes + i * ROW_KEY_SIZE;
        print_key(bytes, 2 * (bench_random(seed * count + i) % rows) + !present);
        keys.key[i] = (struct bloomfile_key){ bytes, ROW_KEY_SIZE };
    }
    return keys;
}

void keys_free(struct keys *keys)
{
    free(keys->key);
    free(keys->bytes);
}

static uint64_t take(rocksdb_pinnableslice_t *value, char *error)
{
    check_engine(error, "read", "a row");
    if (value == NULL)
        return 0;
    rocksdb_pinnableslice_destroy(value);
    return 1;
}

uint64_t keys_get_each(const struct guard *guard, const struct keys *keys)
{
    uint64_t found = 0;
    for (uint64_t i = 0; i < keys->count; i++) {
        char *error = NULL;
        rocksdb_pinnableslice_t *value =
            guard_get(guard, keys->key[i].data, keys->key[i].size, &error);
        found += take(value, error);
    }
    return found;
}

uint64_t keys_get_batches(const struct guard *guard, const struct keys *keys)
{
    rocksdb_pinnableslice_t *values[GUARD_BATCH];
    char *errors[GUARD_BATCH];
    uint64_t found = 0;
    for (uint64_t i = 0, n; i < keys->count; i += n) {
        n = keys->count - i < GUARD_BATCH ? keys->count - i : GUARD_BATCH;
        guard_get_many(guard, keys->key + i, n, values, errors);
        for (uint64_t j = 0; j < n; j++)
            found += take(values[j], errors[j]);
    }
    return found;
}

/* Returns seconds for each key. */
double keys_time(get_all *get, const struct guard *guard, const struct keys *keys, bool present)
{
    const double begin = bench_seconds();
    const uint64_t found = get(guard, keys);
    const double seconds = bench_seconds() - begin;
    if (found != (present ? keys->count : 0))
        bench_fail(0, "trust the gets: one has a wrong answer");
    return seconds / (double)keys->count;
}
