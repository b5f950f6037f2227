/* SPDX-License-Identifier: MIT */
#include "rocksdb.h"

#include <sys/stat.h>

#include "harness/bench.h"
#include "harness/residence.h"
#include "shared.h"

/* RocksDB's filters are used if the files have them and there is a policy, of whichever size. */
static rocksdb_options_t *reading_options(enum measure_mode mode, uint64_t rows)
{
    rocksdb_options_t *options = rocksdb_options_create();
    rocksdb_block_based_table_options_t *table = rocksdb_block_based_options_create();
    rocksdb_cache_t *cache = rocksdb_cache_create_lru(((size_t)64 << 20) + rows * 256);
    rocksdb_block_based_options_set_block_cache(table, cache);
    if (has_rocksdb_filter(mode))
        rocksdb_block_based_options_set_filter_policy(table, rocksdb_filterpolicy_create_bloom(10));
    rocksdb_options_set_block_based_table_factory(options, table);
    rocksdb_block_based_options_destroy(table);
    rocksdb_cache_destroy(cache);
    return options;
}

/* As RocksDB does with its own filters, ours is read when it is opened. */
struct opened measure_open(enum measure_mode mode, uint64_t rows)
{
    struct opened o = { .options = reading_options(mode, rows) };
    const char *path = has_rocksdb_filter(mode) ? "bloom" : "plain", *family = "default";
    char *error = NULL;
    const uint64_t bytes = residence_read_bytes();
    const double begin = bench_seconds();
    o.guard.db = rocksdb_open_for_read_only_column_families(
        o.options, path, 1, &family, (const rocksdb_options_t *const *)&o.options, &o.guard.rows, 0,
        &error);
    check_engine(error, "open", path);
    if (has_our_filter(mode))
        check_bloomfile(bloomfile_open(&o.guard.filter, "set.bloom", BLOOMFILE_PREFAULT), "open",
                        "set.bloom");
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
        bytes += file_bytes("bloom.sst") - file_bytes("plain.sst");
    if (has_our_filter(mode))
        bytes += file_bytes("set.bloom");
    return bytes;
}

uint64_t measure_process_bytes(const struct opened *o)
{
    uint64_t bytes;
    if (rocksdb_property_int(o->guard.db, "rocksdb.estimate-table-readers-mem", &bytes) != 0)
        bench_fail(0, "ask RocksDB for the memory of its tables");
    return bytes;
}
