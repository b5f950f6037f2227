/* SPDX-License-Identifier: MIT
 *
 * bench-scale - 5 * 10^9 keys into 4 GiB, in little more memory than that
 *
 * The keys are numbers, hashed as they are added, so that this is the builder's time and not that
 * of reading text. One process builds, another one looks up; the memory of each is its own.
 */
#include <bloomfile_inspect.h>
#include <errno.h>
#include <inttypes.h>
#include <math.h>
#include <pthread.h>
#include <signal.h>
#include <stdio.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "bench.h"
#include "options.h"
#include "scratch.h"

#define KEYS             5000000000
#define BITS             (1ULL << 35) /* for KEYS; in proportion for others */
#define BLOCK_BITS       512
#define MEMORY           4096 /* MiB */
#define THREADS          2
#define MAX_THREADS      64
#define MAX_KEYS         1000000000000
#define LOOKUPS          10000000
#define SAMPLE           500000    /* of the first keys, and of the last */
#define TOLERATED_MEMORY 1.125     /* 4.5 GiB of 4 */
#define SMALL_MEMORY     (8 << 20) /* and so much for the program itself */

static const char help[] =
    "usage: bench-scale [--keys N] [--memory MIB] [--threads N] [DIRECTORY]\n"
    "Build a blocked filter of N keys (5 * 10^9) at 6.9 bits each in DIRECTORY ($TMPDIR or "
    "/var/tmp),\n"
    "with so much memory (4096) and so many threads (2), and look up 10^7 absent keys; print "
    "times,\n"
    "memory and rates in Markdown. Takes 8 bytes a key of disk, and the filter.\n"
    "The exit status is 1 if a figure misses its target.\n";

static uint64_t keys, memory, threads;

/* What the processes tell one another; shared. */
struct figures {
    double adding, finishing; /* seconds */
    double exact;             /* rate */
    uint64_t hits;            /* of LOOKUPS absent keys */
    uint64_t asked, found;    /* of a sample of its own keys */
    uint64_t recorded;        /* n in the file */
    uint64_t file_size;
};

/* ---- processes */

/* What it took. Ends the program if `work` fails. */
static struct rusage in_a_process(void (*work)(struct figures *), struct figures *figures)
{
    struct rusage usage;
    int status;
    bench_flush();
    const pid_t pid = bench_call(fork(), "fork");
    if (pid == 0) {
        bench_call(prctl(PR_SET_PDEATHSIG, SIGKILL), "end with the parent");
        work(figures);
        _exit(0);
    }
    bench_call(wait4(pid, &status, 0, &usage), "wait for a process");
    if (WIFSIGNALED(status))
        psignal(WTERMSIG(status), "bench-scale: a process of its own was ended");
    if (status != 0)
        bench_fail(0, "go on: a process of its own failed");
    return usage;
}

static uint64_t bits_for_keys(void)
{
    const double bits = (double)BITS / KEYS * (double)keys;
    return (uint64_t)ceil(bits / BLOCK_BITS) * BLOCK_BITS;
}

struct share {
    bloomfile_builder *builder;
    uint64_t first, count;
};

static void *add_share(void *argument)
{
    const struct share *s = argument;
    bench_add_keys(s->builder, 0, s->first, s->count);
    return NULL;
}

static void add_all(bloomfile_builder *builder)
{
    struct share shares[MAX_THREADS];
    pthread_t ids[MAX_THREADS];
    for (uint64_t i = 0; i < threads; i++) {
        const uint64_t first = keys / threads * i;
        shares[i] = (struct share){ builder, first,
                                    (i + 1 < threads ? keys / threads * (i + 1) : keys) - first };
        bench_check(pthread_create(&ids[i], NULL, add_share, &shares[i]), "start a thread");
    }
    for (uint64_t i = 0; i < threads; i++)
        bench_check(pthread_join(ids[i], NULL), "wait for a thread");
}

static void build(struct figures *figures)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    bloomfile_builder *builder;
    params.bits = bits_for_keys();
    params.capacity = keys;
    params.hashes = bloomfile_hashes_for(BLOOMFILE_BLOCKED, params.bits, keys);
    params.memory = memory;
    params.spool = ".";
    params.threads = (uint32_t)threads;
    const double start = bench_seconds();
    bench_check(bloomfile_builder_new(&builder, &params), "start a filter");
    add_all(builder);
    const double added = bench_seconds();
    bench_check(bloomfile_builder_finish(builder, "keys.bloom", 0), "create a filter");
    bloomfile_builder_free(builder);
    figures->adding = added - start;
    figures->finishing = bench_seconds() - added;
}

static void look_up(struct figures *figures)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    struct bloomfile_measurement measure = BLOOMFILE_MEASUREMENT_INIT;
    bloomfile *f;
    bench_check(bloomfile_open(&f, "keys.bloom", BLOOMFILE_VERIFY_FULL),
                "open and verify the filter");
    bloomfile_get_info(f, &info);
    bench_check(bloomfile_measure(f, &measure), "measure the filter");
    const uint64_t some = keys < SAMPLE ? keys : SAMPLE;
    figures->asked = 2 * some;
    figures->found = bench_count_hits(f, 0, some) + bench_count_hits(f, keys - some, some);
    figures->hits = bench_count_hits(f, keys, LOOKUPS);
    figures->exact = measure.fpr;
    figures->recorded = info.keys;
    figures->file_size = info.image_size;
    bloomfile_close(f);
}

/* ---- theory */

/* fill^k of a block in which so many bits were set at random, by the variance of the fill to the
 * second order. */
static double block_rate(double set, double k)
{
    const double empty = pow(1 - 1.0 / BLOCK_BITS, set), both = pow(1 - 2.0 / BLOCK_BITS, set);
    const double fill = 1 - empty;
    const double variance = (empty + (BLOCK_BITS - 1) * both) / BLOCK_BITS - empty * empty;
    return set == 0 ? 0 : pow(fill, k) * (1 + k * (k - 1) / 2 * variance / (fill * fill));
}

/* The mean over blocks with a Poisson number of keys; computed here, without the library.
 * *variance: that among blocks. */
static double theory(double blocks, double k, double *variance)
{
    const double mean = (double)keys / blocks;
    double sum = 0, squares = 0;
    for (double j = 0; j < 4 * mean + 100; j++) {
        const double weight = exp(j * log(mean) - mean - lgamma(j + 1));
        const double rate = block_rate(k * j, k);
        sum += weight * rate;
        squares += weight * rate * rate;
    }
    *variance = squares - sum * sum;
    return sum;
}

/* ---- */

static bool row(const char *what, double value, int decimals, const char *unit, const char *target,
                bool good)
{
    printf("| %-38s | %12.*f %-11s | %-15s | %-7s |\n", what, decimals, value, unit, target,
           target[0] == '\0' ? ""
           : good            ? "ok"
                             : "MISSED");
    return good;
}

static double processor_seconds(const struct rusage *usage)
{
    return (double)usage->ru_utime.tv_sec + (double)usage->ru_stime.tv_sec +
           (double)(usage->ru_utime.tv_usec + usage->ru_stime.tv_usec) / 1e6;
}

static bool print_building(const struct figures *f, const struct rusage *usage)
{
    const double seconds = f->adding + f->finishing, peak = (double)usage->ru_maxrss * 1024;
    const bool small =
        peak <= fmax((double)memory * TOLERATED_MEMORY, (double)memory + SMALL_MEMORY);
    row("hashing and adding", f->adding, 2, "s", "", true);
    row("finishing", f->finishing, 2, "s", "", true);
    row("together", seconds, 2, "s", "", true);
    row("", (double)keys / seconds / 1e6, 2, "10^6 keys/s", "", true);
    row("processor time", processor_seconds(usage), 2, "s", "", true);
    row("memory allowed", (double)memory / 0x1p20, 1, "MiB", "", true);
    bool good = row("peak memory", peak / 0x1p20, 1, "MiB", "<= 1.125 of it", small);
    row("file", (double)f->file_size / 0x1p20, 1, "MiB", "", true);
    good &= row("keys recorded", (double)f->recorded, 0, "", "all, exactly", f->recorded == keys);
    return good;
}

static bool print_rates(const struct figures *f, uint64_t bits, uint32_t hashes)
{
    const double blocks = (double)bits / BLOCK_BITS;
    double variance;
    const double expected = theory(blocks, hashes, &variance);
    const double measured = (double)f->hits / LOOKUPS;
    const double of_lookups = f->exact * (1 - f->exact) / LOOKUPS;
    const double from_exact = (measured - f->exact) / sqrt(of_lookups);
    const double from_theory = (measured - expected) / sqrt(of_lookups + variance / blocks);
    bool good = row("own keys found, of a sample", 100 * (double)f->found / (double)f->asked, 4,
                    "%", "100", f->found == f->asked);
    row("rate, theory", 100 * expected, 4, "%", "", true);
    row("rate, bloomfile_fpr_for()", 100 * bloomfile_fpr_for(BLOOMFILE_BLOCKED, bits, hashes, keys),
        4, "%", "", true);
    row("rate, exact from the bits", 100 * f->exact, 4, "%", "", true);
    row("rate, measured with 10^7 absent keys", 100 * measured, 4, "%", "", true);
    good &=
        row("measured from exact", from_exact, 2, "std. errors", "-3 to 3", fabs(from_exact) <= 3);
    good &= row("measured from theory", from_theory, 2, "std. errors", "-3 to 3",
                fabs(from_theory) <= 3);
    return good;
}

static bool run(const char *where)
{
    const uint64_t bits = bits_for_keys();
    const uint32_t hashes = bloomfile_hashes_for(BLOOMFILE_BLOCKED, bits, keys);
    scratch_make(where, "bench-scale", keys * sizeof(bloomfile_digest) + bits / 8 + (64u << 20));
    scratch_enter();
    struct figures *figures =
        mmap(NULL, sizeof *figures, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (figures == MAP_FAILED)
        bench_fail(errno, "share memory with another process");
    const struct rusage building = in_a_process(build, figures);
    const struct rusage looking_up = in_a_process(look_up, figures);

    printf("%" PRIu64 " keys, m = %" PRIu64 ", k = %" PRIu32 ", %" PRIu64 " threads\n\n", keys,
           bits, hashes, threads);
    printf("| %-38s | %24s | target          | verdict |\n", "", "");
    puts("|----------------------------------------|-------------------------:|-----------------"
         "|---------|");
    bool good = print_building(figures, &building);
    good &= print_rates(figures, bits, hashes);
    row("memory of verifying and looking up", (double)looking_up.ru_maxrss / 1024, 1, "MiB", "",
        true);
    return good;
}

int main(int argc, char **argv)
{
    const struct bench_option options[] = {
        { "keys", &keys, KEYS, 0, 1, MAX_KEYS },
        { "memory", &memory, MEMORY, 0, 1, UINT64_MAX >> 20 },
        { "threads", &threads, THREADS, 0, 1, MAX_THREADS },
    };
    const char *where =
        bench_options(argc, argv, help, options, sizeof options / sizeof options[0]);
    memory <<= 20;
    const bool good = run(where);
    bench_flush();
    return good ? 0 : BENCH_MISSED;
}
