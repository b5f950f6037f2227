/* SPDX-License-Identifier: MIT */
#include "leveldb_keys.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/bench.h"

uint64_t scattered(uint64_t i, uint64_t end)
{
    return bench_random(i) % end;
}

static struct key make(uint64_t i, bool random)
{
    char text[32];
    struct key key;
    if (random)
        snprintf(text, sizeof text, "%016" PRIx64, bench_random(i));
    else
        snprintf(text, sizeof text, "user%012" PRIu64, i);
    memcpy(key.text, text, sizeof key.text);
    return key;
}

static int in_order(const void *a, const void *b)
{
    return memcmp(a, b, KEY_SIZE);
}

struct key *keys_make(size_t count, bool random)
{
    struct key *keys = bench_memory(malloc(count * sizeof *keys));
    for (size_t i = 0; i < count; i++)
        keys[i] = make(i, random);
    if (random)
        qsort(keys, count, sizeof *keys, in_order);
    return keys;
}
