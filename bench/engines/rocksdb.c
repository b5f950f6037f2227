/* SPDX-License-Identifier: MIT
 *
 * bench-rocksdb - what a filter in front of RocksDB saves, and costs
 */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "engine.h"
#include "guard.h"
#include "harness/program.h"
#include "harness/residence.h"
#include "harness/turns.h"
#include "shared.h"

#define ROW_ROOM           700 /* bytes */
#define RIBBONS            2   /* layout */
#define MEASURE_KEY_SIZE   16
#define MEASURE_VALUE_SIZE 100

/* Which filters stand in the way of a get. */
enum measure_mode {
    NO_FILTER,
    ROCKSDB_FILTER = 1,
    OUR_FILTER = 2,
    BOTH_FILTERS = ROCKSDB_FILTER | OUR_FILTER,
    MODES
};

static uint64_t rows, gets, cold_gets, rounds, layout;
static const char *const layouts[] = { "blocked", "ribbon", NULL };

/* ---- the rows: an SST file with RocksDB's filters and one without, a database of each, and our
 * filter */

#define POOL_SIZE ((size_t)1 << 20)

static const char *const databases[] = { "plain", "bloom" };
static const char *const sst_files[] = { "plain.sst", "bloom.sst" };
static const char filter[] = "set.bloom";

/* Row i has the key of 2 * i, as text that sorts as numbers do: keys of odd numbers are absent and
 * lie between the others. */
static void measure_key(char key[MEASURE_KEY_SIZE], uint64_t number)
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
    return layout == RIBBONS ? rocksdb_filterpolicy_create_ribbon(10)
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

static void add_rows(rocksdb_sstfilewriter_t *sst, bloomfile_builder *builder, const char *path)
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
    struct bloomfile_destination to = bloomfile_to_path(filter, BLOOMFILE_TO_REPLACE);
    if (builder != NULL)
        check_bloomfile(bloomfile_builder_write(builder, &to), "write", filter);
}

static double measure_write(enum measure_mode mode)
{
    const char *path = sst_files[mode & ROCKSDB_FILTER];
    char *error = NULL;
    rocksdb_envoptions_t *environment = rocksdb_envoptions_create();
    rocksdb_options_t *options = options_for((mode & ROCKSDB_FILTER) != 0, 0);
    rocksdb_sstfilewriter_t *sst = rocksdb_sstfilewriter_create(environment, options);
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    bloomfile_builder *builder = NULL;
    params.layout = layout == RIBBONS ? BLOOMFILE_LAYOUT_RIBBON : BLOOMFILE_LAYOUT_BLOCKED;
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

static void measure_ingest(void)
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

/* ---- as a reader has them */

/* A database as a reader has it. */
struct opened {
    struct guard guard;
    rocksdb_options_t *options;
    double seconds;      /* that opening took */
    uint64_t read_bytes; /* by it, from disks */
};

/* As RocksDB does with its own filters, ours is read when it is opened. */
static struct opened measure_open(enum measure_mode mode)
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

static void measure_close(struct opened *o)
{
    bloomfile_close(o->guard.filter);
    rocksdb_readoptions_destroy(o->guard.options);
    rocksdb_column_family_handle_destroy(o->guard.rows);
    rocksdb_close(o->guard.db);
    rocksdb_options_destroy(o->options);
}

static void measure_warm(const struct opened *o)
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

static uint64_t measure_filter_bytes(enum measure_mode mode)
{
    uint64_t bytes = 0;
    if (mode & ROCKSDB_FILTER)
        bytes += file_bytes(sst_files[1]) - file_bytes(sst_files[0]);
    if (mode & OUR_FILTER)
        bytes += file_bytes(filter);
    return bytes;
}

static uint64_t measure_process_bytes(const struct opened *o)
{
    uint64_t bytes;
    if (rocksdb_property_int(o->guard.db, "rocksdb.estimate-table-readers-mem", &bytes) != 0)
        bench_fail(0, "ask RocksDB for the memory of its tables");
    return bytes;
}

/* ---- figures */

enum figure {
    WRITE,
    OPEN,
    ONE_ABSENT,
    ONE_PRESENT,
    MANY_ABSENT,
    MANY_PRESENT,
    COLD_OPEN_BYTES,
    COLD_ABSENT_BYTES,
    COLD_PRESENT_BYTES,
    COLD_ABSENT,
    COLD_PRESENT,
    FILTER_BYTES,
    PROCESS_BYTES,
    FIGURES
};

static const struct {
    const char *name;
    double unit;
    int decimals;
} figures[FIGURES] = {
    [WRITE] = { "writing the SST file and filters, to disk, s", 1, 2 },
    [OPEN] = { "opening, files in memory, ms", 1e-3, 2 },
    [ONE_ABSENT] = { "get, absent, ns a key", 1e-9, 0 },
    [ONE_PRESENT] = { "get, present, ns a key", 1e-9, 0 },
    [MANY_ABSENT] = { "multi_get of 256, absent, ns a key", 1e-9, 0 },
    [MANY_PRESENT] = { "multi_get of 256, present, ns a key", 1e-9, 0 },
    [COLD_OPEN_BYTES] = { "cold: read by opening, KiB", 1024, 0 },
    [COLD_ABSENT_BYTES] = { "cold: read by a get, absent, bytes", 1, 0 },
    [COLD_PRESENT_BYTES] = { "cold: read by a get, present, bytes", 1, 0 },
    [COLD_ABSENT] = { "cold: get, absent, us", 1e-6, 1 },
    [COLD_PRESENT] = { "cold: get, present, us", 1e-6, 1 },
    [FILTER_BYTES] = { "filters on disk, KiB", 1024, 0 },
    [PROCESS_BYTES] = { "RocksDB's indexes and filters in each process, KiB", 1024, 0 },
};

static struct turns measured; /* a row is a mode, a turn a round */

static double *measured_at(enum measure_mode mode, enum figure figure, size_t round)
{
    return turns_at(&measured, mode, figure, round);
}

/* Each mode is the first of a round as often as the others, since what comes first may find caches
 * and disk in another state. */
static enum measure_mode turn(unsigned place, size_t round)
{
    return (place + round) % MODES;
}

/* ---- gets */

struct keys {
    char *bytes;
    struct bloomfile_key *key;
    uint64_t count;
};

/* Keys at random, of rows or between them; others for each seed. */
static struct keys choose(uint64_t count, bool present, uint64_t seed)
{
    struct keys keys = { bench_memory(malloc(count * MEASURE_KEY_SIZE)),
                         bench_memory(calloc(count, sizeof *keys.key)), count };
    for (uint64_t i = 0; i < count; i++) {
        char *bytes = keys.bytes + i * MEASURE_KEY_SIZE;
        measure_key(bytes, 2 * (bench_random(seed * count + i) % rows) + !present);
        keys.key[i] = (struct bloomfile_key){ bytes, MEASURE_KEY_SIZE };
    }
    return keys;
}

static void release(struct keys *keys)
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

static uint64_t get_each(const struct guard *guard, const struct keys *keys)
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

static uint64_t get_batches(const struct guard *guard, const struct keys *keys)
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

/* How many of the keys have a row. */
typedef uint64_t get_all(const struct guard *guard, const struct keys *keys);

/* Seconds a key. */
static double time_gets(get_all *get, const struct guard *guard, const struct keys *keys,
                        bool present)
{
    const double begin = bench_seconds();
    const uint64_t found = get(guard, keys);
    const double seconds = bench_seconds() - begin;
    if (found != (present ? keys->count : 0))
        bench_fail(0, "trust the gets: one has a wrong answer");
    return seconds / (double)keys->count;
}

/* ---- rounds */

static void warm_gets(const struct opened opened[MODES], size_t round)
{
    static const struct {
        enum figure figure;
        get_all *get;
        bool present;
    } kinds[] = { { ONE_ABSENT, get_each, false },
                  { ONE_PRESENT, get_each, true },
                  { MANY_ABSENT, get_batches, false },
                  { MANY_PRESENT, get_batches, true } };
    const unsigned count = sizeof kinds / sizeof kinds[0];
    for (unsigned k = 0; k < count; k++) {
        struct keys keys = choose(gets, kinds[k].present, round * count + k);
        for (unsigned i = 0; i < MODES; i++) {
            const enum measure_mode mode = turn(i, round);
            *measured_at(mode, kinds[k].figure, round) =
                time_gets(kinds[k].get, &opened[mode].guard, &keys, kinds[k].present);
        }
        release(&keys);
    }
}

static void cold_round(enum measure_mode mode, size_t round, bool present)
{
    struct keys keys = choose(cold_gets, present, round);
    engine_evict(".");
    struct opened opened = measure_open(mode);
    const uint64_t bytes = residence_read_bytes();
    *measured_at(mode, present ? COLD_PRESENT : COLD_ABSENT, round) =
        time_gets(get_each, &opened.guard, &keys, present);
    *measured_at(mode, present ? COLD_PRESENT_BYTES : COLD_ABSENT_BYTES, round) =
        (double)(residence_read_bytes() - bytes) / (double)cold_gets;
    *measured_at(mode, COLD_OPEN_BYTES, round) = (double)opened.read_bytes;
    measure_close(&opened);
    release(&keys);
}

static void warm_round(const struct opened opened[MODES], size_t round)
{
    warm_gets(opened, round);
    for (unsigned i = 0; i < MODES; i++) {
        const enum measure_mode mode = turn(i, round);
        struct opened again = measure_open(mode);
        *measured_at(mode, OPEN, round) = again.seconds;
        measure_close(&again);
        *measured_at(mode, FILTER_BYTES, round) = (double)measure_filter_bytes(mode);
        *measured_at(mode, PROCESS_BYTES, round) = (double)measure_process_bytes(&opened[mode]);
    }
}

static void measure(void)
{
    struct opened opened[MODES];
    for (size_t round = 0; round < rounds; round++)
        for (unsigned i = 0; i < MODES; i++)
            *measured_at(turn(i, round), WRITE, round) = measure_write(turn(i, round));
    measure_ingest();
    for (unsigned mode = 0; mode < MODES; mode++) {
        opened[mode] = measure_open(mode);
        measure_warm(&opened[mode]);
    }
    for (size_t round = 0; round < rounds; round++)
        warm_round(opened, round);
    for (unsigned mode = 0; mode < MODES; mode++)
        measure_close(&opened[mode]);
    for (size_t round = 0; round < rounds; round++)
        for (unsigned i = 0; i < 2 * MODES; i++)
            cold_round(turn(i / 2, round), round, i % 2 == 1);
}

/* ---- the table */

static const char *ratio(double a, double b)
{
    return a > 0 && b > 0 ? table_number(a / b, 2) : "-";
}

static void run(void)
{
    const bool ribbons = layout == RIBBONS;
    measured = turns_new(MODES, FIGURES, rounds);
    measure();
    printf("### bench-rocksdb: a %s in front of RocksDB, its own, and none\n\n",
           ribbons ? "ribbon" : "filter");
    table_start(
        "%" PRIu64 " rows; medians of %" PRIu64
        " rounds|>none|>RocksDB's|>bloomfile|>both|>none / bloomfile|>RocksDB's / bloomfile|"
        ">RocksDB's / both",
        rows, rounds);
    for (unsigned f = 0; f < FIGURES; f++) {
        double value[MODES];
        table_cells("%s", figures[f].name);
        for (unsigned mode = 0; mode < MODES; mode++) {
            value[mode] = turns_median(&measured, mode, f);
            table_cells("|%.*f", figures[f].decimals, value[mode] / figures[f].unit);
        }
        table_row("|%s|%s|%s", ratio(value[NO_FILTER], value[OUR_FILTER]),
                  ratio(value[ROCKSDB_FILTER], value[OUR_FILTER]),
                  ratio(value[ROCKSDB_FILTER], value[BOTH_FILTERS]));
    }
    table_end();
    engine_report_stayed();
    free(measured.values);
}

static uint64_t room(void)
{
    return rows * ROW_ROOM;
}

const struct benchmark benchmark = {
    .what =
            "RocksDB with no filter, with its own (10 bits a key), with a filter of bloomfile in front, and with\n"
            "both. Medians of rounds in which all take turns. DIRECTORY must be on a disk for the cold gets to\n"
            "mean anything; 700 bytes a row are taken there.\n",
    .options = {
        OPTION_NUMBER("rows", &rows, 1000000, 100000, 1, 1000000000, "rows of 16 + 100 bytes"),
        OPTION_NUMBER("gets", &gets, 200000, 20000, 1, 100000000, "gets of each kind a round"),
        OPTION_NUMBER("cold", &cold_gets, 1000, 100, 1, 100000000, "gets a round from files that are not in memory"),
        OPTION_WORD("layout", &layout, layouts, "of bloomfile's filter, and the kind of RocksDB's: blocked if not given"),
        OPTION_NUMBER("rounds", &rounds, 8, 8, 1, ENGINE_MAX_ROUNDS, "rounds"),
    },
    .room = room,
    .run = run,
};
