/* SPDX-License-Identifier: MIT
 *
 * The calls in C that bench-python's figures stand beside, timed without Python between them, for
 * ctypes in the same process. Times are in seconds; a negative one is an error.
 */
#include <bloomfile.h>
#include <bloomfile_live.h>

#include "harness/bench.h"

#include <stdlib.h>

bloomfile *calls_open(const char *path);
bloomfile *calls_create(const char *path, uint64_t capacity, double fpr);
void calls_close(bloomfile *f);
struct bloomfile_key *calls_keys(const char *bytes, const uint64_t *ends, size_t n);
void calls_free(void *memory);
void calls_digests(uint64_t first, uint64_t *digests, size_t n);
double calls_hash(const struct bloomfile_key *keys, size_t n, uint64_t *digests);
double calls_contains(const bloomfile *f, const struct bloomfile_key *keys, size_t n, bool *hits);
double calls_contains_many(const bloomfile *f, const struct bloomfile_key *keys, size_t n,
                           bool *hits);
double calls_contains_digests(const bloomfile *f, const uint64_t *digests, size_t n, bool *hits);
double calls_add(bloomfile *f, const struct bloomfile_key *keys, size_t n, bool *was_new);
double calls_add_many(bloomfile *f, const struct bloomfile_key *keys, size_t n, bool *was_new);
double calls_build(const struct bloomfile_key *keys, size_t n, double fpr);

bloomfile *calls_open(const char *path)
{
    bloomfile *f;
    return bloomfile_open(&f, path, 0) == 0 ? f : NULL;
}

bloomfile *calls_create(const char *path, uint64_t capacity, double fpr)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.capacity = capacity;
    params.fpr = fpr;
    bloomfile *f;
    return bloomfile_create(&f, path, &params, BLOOMFILE_REPLACE) == 0 ? f : NULL;
}

void calls_close(bloomfile *f)
{
    bloomfile_close(f);
}

/* Keys that lie one behind the other, each as far as its end. */
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

double calls_hash(const struct bloomfile_key *keys, size_t n, uint64_t *digests)
{
    double start = bench_seconds();
    for (size_t i = 0; i < n; i++)
        digests[i] = bloomfile_hash(0, keys[i].data, keys[i].size);
    return bench_seconds() - start;
}

double calls_contains(const bloomfile *f, const struct bloomfile_key *keys, size_t n, bool *hits)
{
    double start = bench_seconds();
    for (size_t i = 0; i < n; i++)
        hits[i] = bloomfile_contains(f, keys[i].data, keys[i].size);
    return bench_seconds() - start;
}

double calls_contains_many(const bloomfile *f, const struct bloomfile_key *keys, size_t n,
                           bool *hits)
{
    double start = bench_seconds();
    bloomfile_contains_many(f, keys, n, hits);
    return bench_seconds() - start;
}

double calls_contains_digests(const bloomfile *f, const uint64_t *digests, size_t n, bool *hits)
{
    double start = bench_seconds();
    bloomfile_contains_digests(f, digests, n, hits);
    return bench_seconds() - start;
}

double calls_add(bloomfile *f, const struct bloomfile_key *keys, size_t n, bool *was_new)
{
    double start = bench_seconds();
    for (size_t i = 0; i < n; i++)
        if (bloomfile_add(f, keys[i].data, keys[i].size, was_new + i) != 0)
            return -1;
    return bench_seconds() - start;
}

double calls_add_many(bloomfile *f, const struct bloomfile_key *keys, size_t n, bool *was_new)
{
    double start = bench_seconds();
    return bloomfile_add_many(f, keys, n, was_new, NULL, NULL) == 0 ? bench_seconds() - start : -1;
}

double calls_build(const struct bloomfile_key *keys, size_t n, double fpr)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.fpr = fpr;
    bloomfile_builder *builder;
    double start = bench_seconds();
    if (bloomfile_builder_new(&builder, &params) != 0)
        return -1;
    void *image = NULL;
    size_t size;
    int error = bloomfile_builder_add_many(builder, keys, n);
    if (error == 0)
        error = bloomfile_builder_finish_memory(builder, &image, &size);
    bloomfile_builder_free(builder);
    double seconds = bench_seconds() - start;
    bloomfile_free(image);
    return error == 0 ? seconds : -1;
}
