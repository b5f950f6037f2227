/* SPDX-License-Identifier: MIT
 *
 * sstable-measure - what filters save a reader of many tables
 */
#include "cold.h"
#include "figures.h"
#include "folder.h"
#include "sample.h"

#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

#define BATCH     256
#define COLD_GETS 100

static const char HELP[] =
    "usage: sstable-measure [options] [DIR]\n"
    "Print the times of lookups in a tablet whose tables overlap: without filters, with filters\n"
    "beside the tables, and in them. Works in a new folder in DIR ($TMPDIR or /tmp).\n"
    "\n"
    "  --tables N     tables, 20\n"
    "  --rows N       rows of each table; without it, 20000 and then 1000000 (8 GB of disk)\n"
    "  --rounds N     rounds, whose median counts, 7\n"
    "  --ms N         how long each kind of lookup is measured in a round, 100\n"
    "  --quick        3 rounds of 20 ms with 20000 rows\n"
    "  --help\n";

struct settings {
    struct sample sample;
    uint64_t rounds, ms;
};

static volatile sig_atomic_t told_to_stop;

static void note(int signal)
{
    told_to_stop = signal;
}

void stop_if_told(void)
{
    if (told_to_stop != 0)
        exit(128 + told_to_stop);
}

static void say(void *context, const char *message)
{
    (void)context;
    warnx("%s", message);
}

static const struct reporter REPORTER = { say, NULL };

/* ---- lookups */

static double now(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec + (double)time.tv_nsec / 1e9;
}

struct batch {
    char text[BATCH][SAMPLE_KEY + 1];
    struct bytes keys[BATCH];
    struct answer answers[BATCH];
};

static void choose_keys(struct batch *b, const struct sample *s, bool present)
{
    static uint64_t state; /* of the random numbers */
    for (size_t i = 0; i < BATCH; i++) {
        state++;
        sample_key(s, bloomfile_hash(0, &state, sizeof state), present, b->text[i]);
        b->keys[i] = (struct bytes){ (const uint8_t *)b->text[i], SAMPLE_KEY };
    }
}

static void look_up(const struct tablet *t, struct batch *b, size_t count, bool at_once,
                    bool present)
{
    int error = at_once ? tablet_get_many(t, b->keys, count, b->answers) : 0;
    for (size_t i = 0; i < count; i++) {
        if (!at_once)
            error = tablet_get(t, b->keys[i], &b->answers[i]);
        if (error != 0)
            exit(2);
        if (b->answers[i].found != present)
            errx(2, "a wrong answer about the key %s", b->text[i]);
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
        const double start = now();
        look_up(t, b, BATCH, at_once, present);
        elapsed += now() - start;
        stop_if_told();
    }
    return elapsed * 1e6 / (double)count;
}

/* ---- a tablet without filters, or with filters of one of the two forms */

static void open_tablet(struct tablet *t, enum kind kind)
{
    if (tablet_open(t, kind == INSIDE ? EMBEDDED : SIDECAR, 0,
                    kind == WITHOUT ? TABLE_NO_FILTER : 0, &REPORTER) != 0)
        exit(2);
}

static double kilobytes_read(void)
{
    const int64_t bytes = bytes_read_from_disk();
    return bytes == -1 ? NAN : (double)bytes / 1e3;
}

/* What opening the tablet reads, and what the first lookups then read, each. */
static void read_cold(const struct settings *s, enum kind kind, struct batch *b, bool present,
                      double *opening, double *lookup)
{
    struct tablet t;
    const bool evicted = evict(kind == INSIDE ? EMBEDDED : SIDECAR);
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
            stop_if_told();
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
    sample_make(&s->sample, compression, &REPORTER);
    measure_warm(s, &batch, &figures);
    measure_cold(s, &batch, &figures);
    figures_print(&figures, &s->sample, mtbl_compression_type_to_str(compression), s->rounds);
    fflush(stdout);
    folder_remove(SIDECAR);
    folder_remove(EMBEDDED);
}

static uint64_t number(const char *text, uint64_t most)
{
    char *end;
    const unsigned long long value = strtoull(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || value == 0 || value > most)
        errx(2, "%s is no number from 1 to %" PRIu64 " (try 'sstable-measure --help')", text, most);
    return value;
}

static void parse(struct settings *s, bool *quick, int argc, char **argv)
{
    static const struct option options[] = {
        { "tables", required_argument, NULL, 't' },
        { "rows", required_argument, NULL, 'n' },
        { "rounds", required_argument, NULL, 'r' },
        { "ms", required_argument, NULL, 'm' },
        { "quick", no_argument, NULL, 'q' },
        { "help", no_argument, NULL, 'h' },
        { 0 },
    };
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) != -1;) {
        if (option == 't')
            s->sample.tables = number(optarg, MANIFEST_TABLES);
        else if (option == 'n')
            s->sample.rows = number(optarg, 10000000);
        else if (option == 'r')
            s->rounds = number(optarg, MAX_ROUNDS);
        else if (option == 'm')
            s->ms = number(optarg, 60000);
        else if (option == 'q')
            *quick = true;
        else if (option == 'h')
            exit(fputs(HELP, stdout) == EOF || fflush(stdout) == EOF ? 2 : 0);
        else
            exit(2);
    }
}

int main(int argc, char **argv)
{
    struct settings s = { .sample = { .tables = 20 }, .rounds = 7, .ms = 100 };
    const struct sigaction action = { .sa_handler = note };
    const uint64_t sizes[] = { 20000, 1000000 };
    bool quick = false;
    parse(&s, &quick, argc, argv);
    if (quick)
        s = (struct settings){ { s.sample.tables, 20000 }, 3, 20 };
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    folder_make(argv[optind]);
    figures_print_head();
    const bool one = s.sample.rows != 0;
    for (size_t i = 0; i < (one ? 1 : sizeof sizes / sizeof sizes[0]); i++) {
        s.sample.rows = one ? s.sample.rows : sizes[i];
        measure(&s, MTBL_COMPRESSION_NONE);
        measure(&s, MTBL_COMPRESSION_ZSTD);
    }
    if (fclose(stdout) != 0)
        err(2, "cannot write to standard output");
    return 0;
}
