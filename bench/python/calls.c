/* SPDX-License-Identifier: MIT
 *
 * The calls in C with which bench-python compares its figures, timed without Python in between.
 * bench-python calls them by ctypes. Times are seconds of the process; a negative time is an error.
 */
#include <bloomfile.h>

#include "harness/bench.h"

#include <stdlib.h>

#pragma GCC diagnostic ignored "-Wmissing-prototypes" /* Python is the only caller */

bloomfile_filter *calls_open(const char *path)
{
    bloomfile_filter *f;
    return bloomfile_open(&f, path, 0) == 0 ? f : NULL;
}

void calls_close(bloomfile_filter *f)
{
    bloomfile_close(f);
}

/* Makes keys of consecutive bytes: ends[i] is the end of key i. */
struct bloomfile_key *calls_keys(const char *bytes, const uint64_t *ends, size_t n)
{
    struct bloomfile_key *keys = malloc((n + 1) * sizeof *keys);
    uint64_t start = 0;
    for (size_t i = 0; keys != NULL && i < n; i++) {
        keys[i] = (struct bloomfile_key){ bytes + start, ends[i] - start };
        start = ends[i];
    }
    return keys;
}

void calls_free(void *memory)
{
    free(memory);
}

void calls_digests(uint64_t first, uint64_t *digests, size_t n)
{
    bench_digests(0, first, digests, n);
}

double calls_contains(const bloomfile_filter *f, const struct bloomfile_key *keys, size_t n,
                      bool *hits)
{
    double start = bench_processor_seconds();
    for (size_t i = 0; i < n; i++)
        hits[i] = bloomfile_contains(f, keys[i].data, keys[i].size);
    return bench_processor_seconds() - start;
}

double calls_contains_many(const bloomfile_filter *f, const struct bloomfile_key *keys, size_t n,
                           bool *hits)
{
    double start = bench_processor_seconds();
    bloomfile_contains_many(f, keys, n, hits);
    return bench_processor_seconds() - start;
}

double calls_contains_digests(const bloomfile_filter *f, const uint64_t *digests, size_t n,
                              bool *hits)
{
    double start = bench_processor_seconds();
    bloomfile_contains_digests(f, digests, n, hits);
    return bench_processor_seconds() - start;
}

double calls_build(const struct bloomfile_key *keys, size_t n, double fpr)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.fpr = fpr;
    bloomfile_builder *builder;
    double start = bench_processor_seconds();
    if (bloomfile_builder_new(&builder, &params) != 0)
        return -1;
    struct bloomfile_destination to = bloomfile_to_memory();
    int error = bloomfile_builder_add_many(builder, keys, n);
    if (error == 0)
        error = bloomfile_builder_write(builder, &to);
    bloomfile_builder_free(builder);
    double seconds = bench_processor_seconds() - start;
    bloomfile_free(to.memory);
    return error == 0 ? seconds : -1;
}
