/* SPDX-License-Identifier: MIT
 * bench-file - verifying, opening and building files
 */
#include <bloomfile_inspect.h>
#include <bloomfile_unstable.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <libdeflate.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

#include "harness/crew.h"
#include "harness/program.h"

#define PIECE     ((size_t)1 << 20)
#define LEAST_ONE 0.9 /* target: share of the speed of libdeflate's crc32 over the whole body */
#define LEAST_TWO 1.8 /* target: speed of two threads, relative to one thread */

static uint64_t mebibytes, keys, turns, memory, threads; /* options */
static const char path[] = "filter.bloom";
static size_t sink;

/* ---- verify: compared with other ways to read the same bytes */

#define RING ((size_t)256 << 10) /* bytes of a read(), into a buffer that stays in a cache */

static void read_words(const uint8_t *bytes, size_t size)
{
    uint64_t word;
    for (size_t at = 0; at + sizeof word <= size; at += sizeof word) {
        memcpy(&word, bytes + at, sizeof word);
        sink += word;
    }
}

static void sum_with_zlib(const uint8_t *bytes, size_t size)
{
    sink += crc32_z(0, bytes, size);
}

static void sum_with_libdeflate(const uint8_t *bytes, size_t size)
{
    sink += libdeflate_crc32(0, bytes, size);
}

static void touch_pages(const uint8_t *bytes, size_t size)
{
    for (size_t at = 0; at < size; at += 4096)
        sink += *(const volatile uint8_t *)(bytes + at);
}

static void ignore(const uint8_t *bytes, size_t size)
{
    sink += bytes[size - 1];
}

static void read_body(const bloomfile_filter *f,
                      void (*read_bytes)(const uint8_t *bytes, size_t size))
{
    size_t size;
    const uint8_t *bytes = bloomfile_body(f, &size);
    for (size_t at = 0; at < size; at += PIECE)
        read_bytes(bytes + at, size - at < PIECE ? size - at : PIECE);
}

/* Reads the file by read(), without a mapping. */
static void read_file(void (*read_bytes)(const uint8_t *bytes, size_t size))
{
    static uint8_t ring[RING];
    const int fd = bench_call(open(path, O_RDONLY | O_CLOEXEC), "open the file");
    for (ssize_t n; (n = read(fd, ring, sizeof ring)) != 0;) {
        bench_call(n < 0 ? -1 : 0, "read the file");
        read_bytes(ring, (size_t)n);
    }
    bench_call(close(fd), "close the file");
}

enum {
    LIBDEFLATE = 1,
    ONE_THREAD = 3,
    TWO_THREADS,
    READERS = 12
};

enum way {
    MAPPED = BLOOMFILE_OPEN_PREFAULT,
    FAULTS = 0, /* a new mapping, with a page fault for each page */
    OPENED = BLOOMFILE_OPEN_VERIFY_FULL,
    READ = -1, /* read() into one buffer */
};

static const struct {
    const char *name;
    void (*read_bytes)(const uint8_t *bytes, size_t size); /* NULL for bloomfile_verify() */
    unsigned threads;
    enum way way;
} readers[READERS] = {
    { "zlib's crc32", sum_with_zlib, 1, MAPPED },
    [LIBDEFLATE] = { "libdeflate's crc32", sum_with_libdeflate, 1, MAPPED },
    { "reading, summing words", read_words, 1, MAPPED },
    [ONE_THREAD] = { "bloomfile_verify", NULL, 1, MAPPED },
    [TWO_THREADS] = { "the same, 2 threads", NULL, 2, MAPPED },
    { "the same, 4 threads", NULL, 4, MAPPED },
    { "1 thread, with page faults", NULL, 1, FAULTS },
    { "2 threads, with page faults", NULL, 2, FAULTS },
    { "bloomfile_open with VERIFY_FULL", NULL, 1, OPENED },
    { "page faults alone", touch_pages, 1, FAULTS },
    { "read() of 256 KiB alone", ignore, 1, READ },
    { "the same, libdeflate's crc32", sum_with_libdeflate, 1, READ },
};

static void measure_reader(size_t row, double *rate)
{
    const enum way way = readers[row].way;
    bloomfile_filter *f = way == MAPPED || way == FAULTS ? bench_open(path, way) : NULL;
    const double start = bench_seconds();
    if (way == OPENED)
        f = bench_open(path, OPENED);
    else if (way == READ)
        read_file(readers[row].read_bytes);
    else if (readers[row].read_bytes != NULL)
        read_body(f, readers[row].read_bytes);
    else
        bench_check(bloomfile_verify(f, readers[row].threads, NULL), "verify the filter");
    *rate = (double)(mebibytes << 20) / (bench_seconds() - start);
    bloomfile_close(f);
}

static void judge_if(bool judged, double least, double is)
{
    if (judged)
        table_row(">= %.1f|%s", least, table_verdict(is >= least));
    else
        table_row("|");
}

static void verify(void)
{
    bench_make_filter(path, mebibytes << 20);
    printf("a filter of %" PRIu64 " MiB; medians of %" PRIu64 " turns\n\n", mebibytes, turns);
    struct turns t = turns_take(READERS, 1, turns, measure_reader);
    table_start("|>GB/s|>of libdeflate|>of one thread|target|verdict");
    for (size_t i = 0; i < READERS; i++) {
        const double crc = turns_ratio(&t, i, LIBDEFLATE, 0),
                     one = turns_ratio(&t, i, ONE_THREAD, 0);
        table_cells("%s|%.2f|%.3f|%.3f|", readers[i].name, turns_median(&t, i, 0) / 1e9, crc, one);
        judge_if(i == ONE_THREAD || i == TWO_THREADS, i == ONE_THREAD ? LEAST_ONE : LEAST_TWO,
                 i == ONE_THREAD ? crc : one);
    }
    table_end();
    free(t.values);
}

/* ---- open: compared with the least work of a reader of a mapped file, in short turns */

#define OPEN_TURNS     1501
#define OPENS          20
#define TOLERATED_OPEN 2.0

static void open_by_library(void)
{
    bloomfile_close(bench_open(path, 0));
}

static void open_and_look_up(void)
{
    bloomfile_filter *f = bench_open(path, 0);
    sink += bloomfile_contains_digest(f, 0);
    bloomfile_close(f);
}

static void open_bare(void)
{
    struct stat status;
    int fd = bench_call(open(path, O_RDONLY | O_CLOEXEC), "open the file");
    bench_call(fstat(fd, &status), "fstat the file");
    void *bytes = mmap(NULL, (size_t)status.st_size, PROT_READ, MAP_SHARED, fd, 0);
    if (bytes == MAP_FAILED)
        bench_fail(errno, "map the file");
    (void)*(const volatile char *)bytes;
    bench_call(munmap(bytes, (size_t)status.st_size), "unmap the file");
    bench_call(close(fd), "close the file");
}

static const struct {
    const char *name;
    void (*once)(void);
} ways[] = {
    { "open, fstat, mmap, touch one page, munmap, close", open_bare },
    { "bloomfile_open, bloomfile_close", open_by_library },
    { "the same with one lookup, which checks its page", open_and_look_up },
};

enum {
    BARE,
    LIBRARY,
    WAYS = sizeof ways / sizeof ways[0]
};

static void measure_opening(size_t way, double *microseconds)
{
    const double start = bench_seconds();
    for (int i = 0; i < OPENS; i++)
        ways[way].once();
    *microseconds = (bench_seconds() - start) / OPENS * 1e6;
}

static void open_and_close(void)
{
    bench_make_filter(path, mebibytes << 20);
    struct turns t = turns_take(WAYS, 1, OPEN_TURNS, measure_opening);
    table_start("opening and closing, a body of %" PRIu64 " MiB|>median us|>ratio|target|verdict",
                mebibytes);
    for (size_t i = 0; i < WAYS; i++) {
        const double ratio = turns_ratio(&t, i, BARE, 0);
        table_cells("%s|%.2f|%.4f|", ways[i].name, turns_median(&t, i, 0), ratio);
        if (i == LIBRARY)
            table_row("<= %g|%s", TOLERATED_OPEN, table_verdict(ratio <= TOLERATED_OPEN));
        else
            table_row("|");
    }
    table_end();
    free(t.values);
}

/* ---- scale: keys are numbers, hashed when they are added; a process builds, another looks up */

#define KEYS         5000000000
#define BITS         (1ULL << 35) /* for KEYS; in proportion for fewer keys */
#define LOOKUPS      10000000
#define SAMPLE       500000 /* present keys looked up: so many of the first keys, and of the last */
#define OVER_MEMORY  1.125  /* target: peak memory, relative to the limit: 4.5 GiB for 4 GiB */
#define SMALL_MEMORY (8 << 20)

/* The processes share these. */
struct figures {
    double adding, finishing, exact; /* seconds, seconds, rate from the bits */
    uint64_t hits, looked_up, found, recorded, file_size;
};

static uint64_t bits_for_keys(void)
{
    return (uint64_t)ceil((double)BITS / KEYS * (double)keys / 512) * 512;
}

static double expected_rate(void)
{
    struct bloomfile_size size = BLOOMFILE_SIZE_INIT;
    size.bits = bits_for_keys();
    size.keys = keys;
    bench_check(bloomfile_size_for(&size), "compute a rate");
    return size.fpr;
}

static void add_share(void *builder, unsigned thread)
{
    const uint64_t first = keys / threads * thread;
    bench_add_keys(builder, 0, first, thread + 1 < threads ? keys / threads : keys - first);
}

static void build_scale(void *context, unsigned worker)
{
    (void)worker;
    struct figures *figures = context;
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    bloomfile_builder *builder;
    params.bits = bits_for_keys();
    params.capacity = keys;
    params.memory = memory << 20;
    params.spool = ".";
    params.threads = (uint32_t)threads;
    const double start = bench_seconds();
    bench_check(bloomfile_builder_new(&builder, &params), "start a filter");
    crew_run(&(struct crew){ (unsigned)threads, false, NULL, add_share, NULL, builder });
    figures->adding = bench_seconds() - start;
    struct bloomfile_destination to = bloomfile_to_path(path, 0);
    bench_check(bloomfile_builder_write(builder, &to), "create a filter");
    figures->finishing = bench_seconds() - start - figures->adding;
    bloomfile_builder_free(builder);
}

static void look_up_scale(void *context, unsigned worker)
{
    (void)worker;
    struct figures *figures = context;
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    struct bloomfile_measurement measure = BLOOMFILE_MEASUREMENT_INIT;
    bloomfile_filter *f = bench_open(path, BLOOMFILE_OPEN_VERIFY_FULL);
    bloomfile_get_info(f, &info);
    bench_check(bloomfile_measure(f, &measure), "measure the filter");
    const uint64_t some = keys < SAMPLE ? keys : SAMPLE;
    figures->looked_up = 2 * some;
    figures->found = bench_count_hits(f, 0, some) + bench_count_hits(f, keys - some, some);
    figures->hits = bench_count_hits(f, keys, LOOKUPS);
    figures->exact = measure.fpr;
    figures->recorded = info.keys;
    figures->file_size = info.image_size;
    bloomfile_close(f);
}

static void print_building(const struct figures *f, const struct crew_time *time)
{
    const double seconds = f->adding + f->finishing;
    const double allowed = (double)(memory << 20);
    const bool kept = time->peak_bytes <= fmax(allowed * OVER_MEMORY, allowed + SMALL_MEMORY);
    table_row("hashing and adding|%.2f s||", f->adding);
    table_row("finishing|%.2f s||", f->finishing);
    table_row("together|%.2f 10^6 keys/s||", (double)keys / seconds / 1e6);
    table_row("processor time|%.2f s||", time->process_seconds);
    table_row("memory allowed|%.1f MiB||", allowed / 0x1p20);
    table_row("peak memory|%.1f MiB|<= 1.125 of it|%s", time->peak_bytes / 0x1p20,
              table_verdict(kept));
    table_row("file|%.1f MiB||", (double)f->file_size / 0x1p20);
    table_row("keys recorded|%" PRIu64 "|all, exactly|%s", f->recorded,
              table_verdict(f->recorded == keys));
}

static void print_rates(const struct figures *f)
{
    const double measured = (double)f->hits / LOOKUPS;
    const double apart = (measured - f->exact) / sqrt(f->exact * (1 - f->exact) / LOOKUPS);
    table_row("own keys found, of a sample|%.4f%%|100|%s",
              100 * (double)f->found / (double)f->looked_up,
              table_verdict(f->found == f->looked_up));
    table_row("rate, expected|%.4f%%||", 100 * expected_rate());
    table_row("rate, exact from the bits|%.4f%%||", 100 * f->exact);
    table_row("rate, measured with 10^7 absent keys|%.4f%%||", 100 * measured);
    table_row("measured from exact|%.2f std. errors|-3 to 3|%s", apart,
              table_verdict(fabs(apart) <= 3));
}

static void scale(void)
{
    struct figures *figures = crew_memory(sizeof *figures);
    const struct crew_time building =
        crew_run(&(struct crew){ 1, true, NULL, build_scale, NULL, figures });
    const struct crew_time looking_up =
        crew_run(&(struct crew){ 1, true, NULL, look_up_scale, NULL, figures });
    printf("%" PRIu64 " keys, m = %" PRIu64 ", %" PRIu64 " threads\n\n", keys, bits_for_keys(),
           threads);
    table_start("|>|target|verdict");
    print_building(figures, &building);
    print_rates(figures);
    table_row("memory of verifying and looking up|%.1f MiB||", looking_up.peak_bytes / 0x1p20);
    table_end();
    crew_memory_free(figures, sizeof *figures);
}

/* ---- fresh: building in a new process, whose memory has no pages yet, and once again in it */

#define FRESH_KEYS 10000000u
#define FRESH_BITS (FRESH_KEYS / 512 * 10 * 512)
#define HUGE_PAGE  ((size_t)2 << 20)

struct pair {
    double first, again; /* both in ns a key */
};

static bloomfile_digest *fresh_digests;
static struct pair *pair; /* figures of this process */

static void build_fresh(void)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    struct bloomfile_destination to = bloomfile_to_memory();
    bloomfile_builder *builder;
    params.bits = FRESH_BITS;
    params.capacity = FRESH_KEYS;
    bench_check(bloomfile_builder_new(&builder, &params), "start a filter");
    for (size_t i = 0, n; i < FRESH_KEYS; i += n) {
        n = FRESH_KEYS - i < 4096 ? FRESH_KEYS - i : 4096;
        bench_check(bloomfile_builder_add_digests(builder, fresh_digests + i, n), "add keys");
    }
    bench_check(bloomfile_builder_write(builder, &to), "create a filter");
    bloomfile_builder_free(builder);
    bloomfile_free(to.memory);
}

/* Writes a byte to each page of a block of memory as large as the digests. */
static void touch_memory(int advice)
{
    const size_t size = FRESH_KEYS * sizeof(bloomfile_digest), all = size + HUGE_PAGE;
    uint8_t *wide = mmap(NULL, all, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (wide == MAP_FAILED)
        bench_fail(errno, "allocate memory");
    uint8_t *bytes = wide + -(uintptr_t)wide % HUGE_PAGE;
    madvise(bytes, size, advice); /* may fail */
    for (size_t at = 0; at < size; at += 4096)
        *(volatile uint8_t *)(bytes + at) = 1;
    bench_call(munmap(wide, all), "release memory");
}

static void touch_huge(void)
{
    touch_memory(MADV_HUGEPAGE);
}

static void touch_small(void)
{
    touch_memory(MADV_NOHUGEPAGE);
}

static const struct {
    const char *name;
    void (*once)(void);
} fresh_ways[] = {
    { "building in memory", build_fresh },
    { "8 bytes a key, huge pages", touch_huge },
    { "8 bytes a key, pages of 4 KiB", touch_small },
};

#define FRESH_WAYS (sizeof fresh_ways / sizeof fresh_ways[0])

static void run_twice(void *context, unsigned worker)
{
    (void)worker;
    void (*const once)(void) = fresh_ways[*(const size_t *)context].once;
    double *const figures[] = { &pair->first, &pair->again };
    for (unsigned i = 0; i < 2; i++) {
        const double start = bench_processor_seconds();
        once();
        *figures[i] = (bench_processor_seconds() - start) / FRESH_KEYS * 1e9;
    }
}

static void measure_fresh(size_t way, double *figures)
{
    crew_run(&(struct crew){ 1, true, NULL, run_twice, NULL, &way });
    figures[0] = pair->first;
    figures[1] = pair->again;
}

static void fresh(void)
{
    pair = crew_memory(sizeof *pair);
    fresh_digests = bench_memory(malloc(FRESH_KEYS * sizeof *fresh_digests));
    bench_digests(0, 0, fresh_digests, FRESH_KEYS);
    struct turns t = turns_take(FRESH_WAYS, 2, turns, measure_fresh);
    table_start("processor time of %u keys, ns a key|>new process|>again in it|>ratio", FRESH_KEYS);
    for (size_t i = 0; i < FRESH_WAYS; i++) {
        const double first = turns_median(&t, i, 0), again = turns_median(&t, i, 1);
        table_row("%s|%.2f|%.2f|%.2f", fresh_ways[i].name, first, again, first / again);
    }
    table_end();
    free(t.values);
    free(fresh_digests);
    crew_memory_free(pair, sizeof *pair);
}

/* ---- the cases */

static uint64_t chosen;
static const char *const names[] = { "verify", "open", "scale", "fresh", NULL };

static void run(void)
{
    static void (*const cases[])(void) = { verify, open_and_close, scale, fresh };
    if (chosen == 0)
        bench_fail(0, "run without --case");
    cases[chosen - 1]();
}

static uint64_t room(void)
{
    return chosen == 3 ? keys * sizeof(bloomfile_digest) + bits_for_keys() / 8 + (64u << 20)
                       : (mebibytes + mebibytes / 100 + 1) << 20;
}

const struct benchmark benchmark = {
    .what = "verify: checksums of a filter. open: opening and closing it. scale: 5 * 10^9 keys into 4 GiB, with\n"
            "8 bytes a key on the disk. fresh: building in a new process, then again in it.\n",
    .options = {
        OPTION_WORD("case", &chosen, names, "what is measured"),
        OPTION_NUMBER("mib", &mebibytes, 1024, 0, 1, 65536, "MiB of a filter: verify, open"),
        OPTION_NUMBER("turns", &turns, 9, 0, 1, 1000, "turns: verify, fresh"),
        OPTION_NUMBER("keys", &keys, KEYS, 0, 1, 1000000000000, "keys: scale"),
        OPTION_NUMBER("memory", &memory, 4096, 0, 1, UINT64_MAX >> 20, "MiB of memory: scale"),
        OPTION_NUMBER("threads", &threads, 2, 0, 1, 64, "threads: scale"),
    },
    .room = room,
    .run = run,
};
