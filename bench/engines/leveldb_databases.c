/* SPDX-License-Identifier: MIT
 * Databases with filters of each kind: gets, warm and cold. */
#include "leveldb.h"

#include <dirent.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "database.h"
#include "harness/bench.h"
#include "harness/residence.h"
#include "harness/scratch.h"
#include "harness/table.h"

#define BATCH            1000
#define STEP             500
#define CACHE_OF_LEVELDB ((size_t)8 << 20)
#define TRIALS           4

enum column {
    WARM_ABSENT,
    WARM_PRESENT,
    COLD_ABSENT,
    COLD_PRESENT,
    READ_ABSENT,
    READ_PRESENT,
    READ_FILTERS,
    COLUMNS,
};

/* A database of every other key, beginning with the first. Keys are in order. */
struct trial {
    const struct measure_options *options;
    const struct key *keys;
    struct subject subject;
    char path[16];
    uint64_t size;
};

static struct turns samples; /* a row for each trial */

static double *sample(const struct trial *t, enum column column, unsigned round)
{
    return turns_at(&samples, (size_t)atoi(t->path), column, round);
}

/* ---- the files that LevelDB keeps tables in */

static bool is_table(const char *name)
{
    static const char ending[] = ".ldb";
    const size_t size = strlen(name), ending_size = sizeof ending - 1;
    return size >= ending_size && strcmp(name + size - ending_size, ending) == 0;
}

/* Turns off read-ahead for the mapped tables, so that the kernel reads single pages, not up to a
 * whole table around each. Drops the pages that were read. */
static void tables_map_pages_alone(void)
{
    char line[8192];
    uintptr_t first, end;
    FILE *maps = fopen("/proc/self/maps", "re");
    if (maps == NULL)
        bench_fail(errno, "open /proc/self/maps");
    while (fgets(line, sizeof line, maps) != NULL) {
        line[strcspn(line, "\n")] = '\0';
        if (!is_table(line) || sscanf(line, "%" SCNxPTR "-%" SCNxPTR, &first, &end) != 2)
            continue;
        bench_call(madvise((void *)first, end - first, MADV_RANDOM), "advise on a mapping");
        bench_call(madvise((void *)first, end - first, MADV_DONTNEED), "advise on a mapping");
    }
    fclose(maps);
}

static uint64_t tables_size(const char *database)
{
    uint64_t bytes = 0;
    DIR *folder = opendir(database);
    if (folder == NULL)
        bench_fail(errno, "open the folder of a database");
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        struct stat status;
        if (!is_table(entry->d_name))
            continue;
        bench_call(fstatat(dirfd(folder), entry->d_name, &status, 0), "find the size of a table");
        bytes += (uint64_t)status.st_size;
    }
    closedir(folder);
    return bytes;
}

/* ---- filling */

static struct database open_trial(struct trial *t, bool create, size_t cache)
{
    return database_open(t->path, create, subject_policy(&t->subject), cache);
}

/* The first half of a value is pseudorandom, so the value is compressed to about half. */
static void put_row(leveldb_writebatch_t *batch, const struct trial *t, uint64_t row, char *value)
{
    const size_t size = t->options->value_size;
    for (size_t i = 0; i < size / 2; i++)
        value[i] = (char)scattered(row * size + i, 256);
    leveldb_writebatch_put(batch, t->keys[2 * (size_t)row].text, KEY_SIZE, value, size);
}

static void fill(struct trial *t)
{
    const struct measure_options *o = t->options;
    struct database database = open_trial(t, true, CACHE_OF_LEVELDB);
    leveldb_writebatch_t *batch = leveldb_writebatch_create();
    char *value = bench_memory(calloc(1, o->value_size + 1));
    for (uint64_t row = 0; row < o->rows; row++) {
        put_row(batch, t, row, value);
        if ((row + 1) % BATCH == 0 || row + 1 == o->rows)
            database_write(&database, batch);
    }
    free(value);
    leveldb_writebatch_destroy(batch);
    database_compact(&database);
    database_close(&database);
}

/* Fills a database. Opening it again makes tables of the rows that are still in the log. */
static void begin(struct trial *t, unsigned number, enum subject_kind kind, int bits,
                  const struct key *keys, const struct measure_options *o)
{
    *t = (struct trial){ .options = o, .keys = keys, .subject = subject_new(kind, bits) };
    snprintf(t->path, sizeof t->path, "%u", number);
    fill(t);
    struct database database = open_trial(t, false, CACHE_OF_LEVELDB);
    database_close(&database);
    t->size = tables_size(t->path);
    t->subject.asked = t->subject.refused = 0;
}

static struct key *choose(const struct trial *t, uint64_t count, bool present, unsigned round)
{
    struct key *keys = bench_memory(malloc(count * sizeof *keys));
    for (uint64_t i = 0; i < count; i++) {
        const uint64_t place = round * count + i;
        keys[i] = t->keys[2 * scattered(place, t->options->rows) + !present];
    }
    return keys;
}

/* Returns nanoseconds for each get. */
static double time_gets(const struct database *database, const struct key *keys, uint64_t count,
                        bool present)
{
    const double start = bench_seconds();
    for (uint64_t i = 0; i < count; i++) {
        size_t size;
        char *value =
            database_get(database, (struct bloomfile_key){ keys[i].text, KEY_SIZE }, &size);
        if ((value != NULL) != present)
            bench_fail(0, present ? "find a row" : "trust a row that nobody put");
        leveldb_free(value);
    }
    return (bench_seconds() - start) * 1e9 / (double)count;
}

static void ignore(void *context, const struct row *row)
{
    (void)context, (void)row;
}

/* Measures gets with all blocks in the cache. Every round has other keys. */
static void warm_round(struct trial *t, unsigned round)
{
    const struct measure_options *o = t->options;
    struct key *absent = choose(t, o->warm, false, round);
    struct key *present = choose(t, o->warm, true, round);
    struct database database = open_trial(t, false, 4 * t->size + CACHE_OF_LEVELDB);
    database_each(&database, ignore, NULL);
    *sample(t, WARM_ABSENT, round) = time_gets(&database, absent, o->warm, false);
    const uint64_t asked = t->subject.asked, refused = t->subject.refused;
    *sample(t, WARM_PRESENT, round) = time_gets(&database, present, o->warm, true);
    t->subject.asked = asked;
    t->subject.refused = refused;
    database_close(&database);
    free(absent);
    free(present);
}

/* Opens every table, so that its index is in memory. */
static void open_tables(const struct trial *t, const struct database *database)
{
    const char *const first = "";
    for (uint64_t row = 0; row < t->options->rows; row += STEP) {
        const char *const last = t->keys[2 * row].text;
        uint64_t size;
        leveldb_approximate_sizes(database->db, 1, &first, &(size_t){ 0 }, &last,
                                  &(size_t){ KEY_SIZE }, &size);
    }
}

/* Reads all filters: a page of filters covers more keys than a step. */
static void read_filters(const struct trial *t, const struct database *database)
{
    for (uint64_t row = 0; t->subject.ways != NULL && row < t->options->rows; row += STEP)
        time_gets(database, &t->keys[2 * row + 1], 1, false);
}

/* Measures gets with the filters in memory, but no data. */
static void cold_round(struct trial *t, unsigned round, bool present)
{
    const uint64_t count = t->options->cold;
    const struct subject before = t->subject;
    struct key *keys = choose(t, count, present, round);
    struct database database = open_trial(t, false, CACHE_OF_LEVELDB);
    open_tables(t, &database);
    tables_map_pages_alone();
    scratch_evict(t->path);
    const uint64_t begin = residence_read_bytes();
    read_filters(t, &database);
    const uint64_t start = residence_read_bytes();
    const double time = time_gets(&database, keys, count, present);
    const uint64_t end = residence_read_bytes();
    database_close(&database);
    free(keys);
    t->subject = before;
    *sample(t, present ? COLD_PRESENT : COLD_ABSENT, round) = time;
    *sample(t, present ? READ_PRESENT : READ_ABSENT, round) = (double)(end - start) / (double)count;
    *sample(t, READ_FILTERS, round) = (double)(start - begin);
}

/* Prints a time, and its ratio to the trial without filters. */
static void print_time(size_t row, enum column column, double unit, int decimals)
{
    table_cells("|%.*f (%.2f)", decimals, turns_median(&samples, row, column) / unit,
                turns_median(&samples, row, column) / turns_median(&samples, 0, column));
}

static void print(const struct trial *t, const struct trial *none)
{
    const size_t row = (size_t)atoi(t->path);
    table_cells("%s", subject_label(&t->subject));
    if (t == none)
        table_cells("|||");
    else
        table_cells("|%d|%.2f|%.2f %%", t->subject.bits_per_key,
                    ((double)t->size - (double)none->size) / (double)t->options->rows,
                    100 * subject_rate(&t->subject));
    table_cells("|%.1f", (double)t->size / 1e6);
    print_time(row, WARM_ABSENT, 1, 0);
    print_time(row, WARM_PRESENT, 1, 0);
    print_time(row, COLD_ABSENT, 1e3, 1);
    print_time(row, COLD_PRESENT, 1e3, 1);
    table_row("|%.2f|%.2f|%.0f", turns_median(&samples, row, READ_ABSENT) / 1024,
              turns_median(&samples, row, READ_PRESENT) / 1024,
              turns_median(&samples, row, READ_FILTERS) / 1024);
}

/* The filters of the last trial are as large as bloomfile's with their trailers. */
static void begin_all(struct trial *trials, const struct key *keys, const struct measure_options *o)
{
    const int bits = (int)o->bits_per_key;
    begin(&trials[0], 0, SUBJECT_NONE, 0, keys, o);
    begin(&trials[1], 1, SUBJECT_BUILTIN, bits, keys, o);
    begin(&trials[2], 2, SUBJECT_BLOOMFILE, bits, keys, o);
    const double more = 8 * ((double)trials[2].size - (double)trials[1].size) / (double)o->rows;
    begin(&trials[3], 3, SUBJECT_BUILTIN, bits + (int)lround(more), keys, o);
}

void measure_databases(const struct measure_options *o)
{
    struct trial *trials = bench_memory(calloc(TRIALS, sizeof *trials));
    struct key *keys = keys_make(2 * (size_t)o->rows, o->sequential == 0);
    samples = turns_new(TRIALS, COLUMNS, o->rounds);
    begin_all(trials, keys, o);
    for (unsigned round = 0; round < o->rounds; round++) {
        for (struct trial *t = trials; t < trials + TRIALS; t++) {
            warm_round(t, round);
            cold_round(t, round, false);
            cold_round(t, round, true);
        }
    }
    printf("### bench-leveldb: %" PRIu64 " rows of %s keys, medians of %" PRIu64 " rounds\n\n",
           o->rows, o->sequential == 0 ? "random" : "sequential", o->rounds);
    table_start("filters|>bits a key|>bytes a key|>false positives|>tables, MB|>absent, warm, ns|"
                ">present, warm, ns|>absent, cold, us|>present, cold, us|>KiB read, absent|"
                ">KiB read, present|>filters read, KiB");
    for (struct trial *t = trials; t < trials + TRIALS; t++) {
        print(t, trials);
        subject_free(&t->subject);
    }
    table_end();
    free(samples.values);
    free(keys);
    free(trials);
}
