/* SPDX-License-Identifier: MIT
 * Functions that the benchmarks share: errors, numbers, clocks, keys. */
#include "harness/bench.h"

#include <bloomfile_inspect.h>
#include <bloomfile_unstable.h>
#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define CHUNK 1024

void bench_fail(int error, const char *what)
{
    fflush(stdout);
    fprintf(stderr, "%s: cannot %s%s%s\n", program_invocation_short_name, what,
            error != 0 ? ": " : "", error != 0 ? bloomfile_strerror(error) : "");
    exit(BENCH_TROUBLE);
}

void bench_check(int error, const char *what)
{
    if (error != 0)
        bench_fail(error, what);
}

int bench_call(int result, const char *what)
{
    if (result == -1)
        bench_fail(errno, what);
    return result;
}

void bench_flush(void)
{
    if (fflush(stdout) != 0 || ferror(stdout))
        bench_fail(errno, "write to standard output");
}

void *bench_memory(void *memory)
{
    if (memory == NULL)
        bench_fail(ENOMEM, "get memory");
    return memory;
}

static bool parse(const char *text, uint64_t *value)
{
    char *end;
    errno = 0;
    *value = strtoull(text, &end, 10);
    return text[0] >= '0' && text[0] <= '9' && *end == '\0' && errno == 0;
}

uint64_t bench_number_in(const char *text, uint64_t least, uint64_t most)
{
    uint64_t value;
    if (!parse(text, &value) || value < least || value > most) {
        char what[256];
        snprintf(what, sizeof what, "take '%.80s' for a number from %" PRIu64 " to %" PRIu64, text,
                 least, most);
        bench_fail(0, what);
    }
    return value;
}

static double seconds_of(clockid_t clock)
{
    struct timespec now;
    bench_call(clock_gettime(clock, &now), "read the clock");
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

double bench_seconds(void)
{
    return seconds_of(CLOCK_MONOTONIC);
}

double bench_processor_seconds(void)
{
    return seconds_of(CLOCK_PROCESS_CPUTIME_ID);
}

static int compare(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double bench_median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, compare);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

uint64_t bench_random(uint64_t i)
{
    return bloomfile_hash(0, &i, sizeof i);
}

void bench_make_filter(const char *path, size_t size)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    uint8_t *body = bench_memory(malloc(size));
    for (size_t at = 0; at < size; at += sizeof(uint64_t)) {
        const uint64_t word = bench_random(at);
        memcpy(body + at, &word, sizeof word);
    }
    params.bits = (uint64_t)size * 8;
    params.hashes = 6;
    params.capacity = params.bits / 10;
    struct bloomfile_destination to = bloomfile_to_path(path, BLOOMFILE_TO_REPLACE);
    bench_check(bloomfile_assemble(&to, &params, body, size, 0, params.capacity), "make a filter");
    free(body);
}

bloomfile_filter *bench_open(const char *path, unsigned flags)
{
    bloomfile_filter *f;
    bench_check(bloomfile_open(&f, path, flags), "open a filter");
    return f;
}

void bench_digests(uint64_t seed, uint64_t first, bloomfile_digest *digests, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        uint64_t key = first + i;
        digests[i] = bloomfile_hash(seed, &key, sizeof key);
    }
}

void bench_add_keys(bloomfile_builder *builder, uint64_t seed, uint64_t first, uint64_t count)
{
    bloomfile_digest digests[CHUNK];
    for (uint64_t done = 0; done < count; done += CHUNK) {
        size_t n = count - done < CHUNK ? (size_t)(count - done) : CHUNK;
        bench_digests(seed, first + done, digests, n);
        bench_check(bloomfile_builder_add_digests(builder, digests, n), "add keys");
    }
}

uint64_t bench_count_hits(const bloomfile_filter *f, uint64_t first, uint64_t count)
{
    bloomfile_digest digests[CHUNK];
    uint64_t hits = 0;
    for (uint64_t done = 0; done < count; done += CHUNK) {
        size_t n = count - done < CHUNK ? (size_t)(count - done) : CHUNK;
        bench_digests(bloomfile_seed(f), first + done, digests, n);
        hits += bloomfile_contains_digests(f, digests, n, NULL);
    }
    return hits;
}

const char *bench_layout_name(uint32_t layout)
{
    return bloomfile_layout_name(layout);
}
