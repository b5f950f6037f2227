/* SPDX-License-Identifier: MIT
 *
 * bench-sstable - what filters save a reader of many tables
 */
#include <math.h>
#include <mtbl.h>

#include "engine.h"
#include "harness/bench.h"
#include "harness/options.h"
#include "harness/residence.h"
#include "harness/scratch.h"
#include "sstable_figures.h"
#include "sstable_sample.h"

#define BATCH      TABLET_BATCH
#define COLD_GETS  100
#define MAX_STAYED 0.01 /* of what counts as cold */
#define ROW_ROOM   400  /* bytes, in both forms */

static const char help[] =
    "usage: bench-sstable [--quick] [--tables N] [--rows N] [--rounds N] [--ms N] [DIRECTORY]\n"
    "Print the times of lookups in a tablet of N tables (20; --tables) that overlap: without\n"
    "filters, with filters beside the tables, and in them. They are in DIRECTORY ($TMPDIR or\n"
    "/var/tmp), which must be on a disk for the cold figures to mean anything.\n"
    "\n"
    "  --rows N     rows of each table; without it, 20000 and then 1000000 (8 GB of disk)\n"
    "  --rounds N   rounds, whose median counts (7)\n"
    "  --ms N       how long each kind of lookup is measured in a round (100)\n"
    "  --quick      20000 rows, 3 rounds of 20 ms\n";

struct settings {
    struct sample sample;
    uint64_t rounds, ms;
};

/* ---- lookups */

struct batch {
    char text[BATCH][SAMPLE_KEY + 1];
    struct bloomfile_key keys[BATCH];
    struct answer answers[BATCH];
};

static void choose_keys(struct batch *b, const struct sample *s, bool present)
{
    static uint64_t state; /* of the random numbers */
    for (size_t i = 0; i < BATCH; i++) {
        state++;
        sample_key(s, bench_random(state), present, b->text[i]);
        b->keys[i] = (struct bloomfile_key){ b->text[i], SAMPLE_KEY };
    }
}

static void look_up(const struct tablet *t, struct batch *b, size_t count, bool at_once,
                    bool present)
{
    if (at_once)
        tablet_get_many(t, b->keys, count, b->answers);
    for (size_t i = 0; i < count; i++) {
        if (!at_once)
            tablet_get(t, b->keys[i], &b->answers[i]);
        if (b->answers[i].found != present)
            bench_fail(0, "trust the tablet: it has a wrong answer");
    }
}

/* Microseconds a key. */
static double time_lookups(const struct tablet *t, const struct settings *s, struct batch *b,
                           bool at_once, bool present)
{
    double elapsed = 0;
    uint64_t count = 0;
    for (; elapsed * 1e3 < (double)s->ms; count += BATCH) {
        choose_keys(b, &s->sample, present);
        const double start = bench_seconds();
        look_up(t, b, BATCH, at_once, present);
        elapsed += bench_seconds() - start;
    }
    return elapsed * 1e6 / (double)count;
}

/* ---- a tablet without filters, or with filters of one of the two forms */

static void open_tablet(struct tablet *t, enum kind kind)
{
    tablet_open(t, kind == INSIDE ? EMBEDDED : SIDECAR, 0, kind == WITHOUT ? TABLE_NO_FILTER : 0);
}

static double kilobytes_read(void)
{
    const uint64_t bytes = residence_read_bytes();
    return bytes == 0 ? NAN : (double)bytes / 1e3;
}

/* What opening the tablet reads, and what the first lookups then read, each. */
static void read_cold(const struct settings *s, enum kind kind, struct batch *b, bool present,
                      double *opening, double *lookup)
{
    struct tablet t;
    const bool evicted = engine_evict(kind == INSIDE ? EMBEDDED : SIDECAR) <= MAX_STAYED;
    const double before = kilobytes_read();
    open_tablet(&t, kind);
    const double opened = kilobytes_read();
    choose_keys(b, &s->sample, present);
    look_up(&t, b, COLD_GETS, false, present);
    *opening = evicted ? opened - before : NAN;
    *lookup = evicted ? (kilobytes_read() - opened) / COLD_GETS : NAN;
    tablet_close(&t);
}

static void measure_cold(const struct settings *s, struct batch *b, struct figures *f)
{
    for (uint64_t round = 0; round < s->rounds; round++) {
        for (enum kind kind = WITHOUT; kind < KINDS; kind++) {
            double *const opening = &f->values[kind][COLD_OPEN][round];
            read_cold(s, kind, b, false, opening, &f->values[kind][COLD_MISS][round]);
            read_cold(s, kind, b, true, opening, &f->values[kind][COLD_HIT][round]);
        }
    }
}

static void measure_warm(const struct settings *s, struct batch *b, struct figures *f)
{
    struct tablet tablets[KINDS];
    for (enum kind kind = WITHOUT; kind < KINDS; kind++)
        open_tablet(&tablets[kind], kind);
    for (uint64_t round = 0; round <= s->rounds;
         round++) { /* what the first finds is overwritten */
        for (enum figure figure = MISS; figure <= HIT_BATCH; figure++) {
            for (enum kind kind = WITHOUT; kind < KINDS; kind++)
                f->values[kind][figure][round == 0 ? 0 : round - 1] =
                    time_lookups(&tablets[kind], s, b, figure >= MISS_BATCH, figure % 2 == HIT);
        }
    }
    for (enum kind kind = WITHOUT; kind < KINDS; kind++)
        tablet_close(&tablets[kind]);
}

/* ---- all of it */

static void measure(const struct settings *s, mtbl_compression_type compression)
{
    static struct figures figures;
    static struct batch batch;
    sample_make(&s->sample, compression);
    measure_warm(s, &batch, &figures);
    measure_cold(s, &batch, &figures);
    figures_print(&figures, &s->sample, mtbl_compression_type_to_str(compression), s->rounds);
    bench_flush();
    scratch_remove(SIDECAR);
    scratch_remove(EMBEDDED);
}

int main(int argc, char **argv)
{
    static const uint64_t sizes[] = { 20000, 1000000 };
    struct settings s;
    const struct bench_option options[] = {
        OPTION_NUMBER("tables", &s.sample.tables, 20, 20, 1, MANIFEST_TABLES),
        OPTION_NUMBER("rows", &s.sample.rows, 0, sizes[0], 1, 10000000),
        OPTION_NUMBER("rounds", &s.rounds, 7, 3, 1, ENGINE_MAX_ROUNDS),
        OPTION_NUMBER("ms", &s.ms, 100, 20, 1, 60000),
    };
    const char *where =
        bench_options(argc, argv, help, options, sizeof options / sizeof options[0]);
    const bool both = s.sample.rows == 0;
    const uint64_t most_rows = both ? sizes[1] : s.sample.rows;
    scratch_make(where, "bench-sstable", s.sample.tables * most_rows * ROW_ROOM);
    scratch_enter();
    figures_print_head(&s.sample, s.rounds);
    for (size_t i = 0; i < (both ? sizeof sizes / sizeof sizes[0] : 1); i++) {
        if (both)
            s.sample.rows = sizes[i];
        measure(&s, MTBL_COMPRESSION_NONE);
        measure(&s, MTBL_COMPRESSION_ZSTD);
    }
    engine_report_stayed();
    return 0;
}
