/* SPDX-License-Identifier: MIT */
#include "rocksdb.h"

#include <stdlib.h>

#include "harness/bench.h"
#include "shared.h"

struct keys measure_keys(uint64_t count, uint64_t rows, bool present, uint64_t seed)
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

void measure_free_keys(struct keys *keys)
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

uint64_t measure_get_each(const struct guard *guard, const struct keys *keys)
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

uint64_t measure_get_batches(const struct guard *guard, const struct keys *keys)
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

double measure_time(measure_get *get, const struct guard *guard, const struct keys *keys,
                    bool present)
{
    const double begin = bench_seconds();
    const uint64_t found = get(guard, keys);
    const double seconds = bench_seconds() - begin;
    if (found != (present ? keys->count : 0))
        bench_fail(0, "trust the gets: one has a wrong answer");
    return seconds / (double)keys->count;
}
