/* SPDX-License-Identifier: MIT */
#include "keys.h"

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

/* Different for every i. */
static uint64_t mix(uint64_t i)
{
    uint64_t x = (i + 1) * 0x9E3779B97F4A7C15;
    x = (x ^ x >> 32) * 0xD6E8FEB86659FD93;
    x = (x ^ x >> 32) * 0xD6E8FEB86659FD93;
    return x ^ x >> 32;
}

uint64_t scattered(uint64_t i, uint64_t end)
{
    return mix(i) % end;
}

static struct key make(uint64_t i, bool random)
{
    char text[32];
    struct key key;
    if (random)
        snprintf(text, sizeof text, "%016" PRIx64, mix(i));
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
    struct key *keys = must_have(malloc(count * sizeof *keys));
    for (size_t i = 0; i < count; i++)
        keys[i] = make(i, random);
    if (random)
        qsort(keys, count, sizeof *keys, in_order);
    return keys;
}

double now_ns(void)
{
    struct timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return (double)time.tv_sec * 1e9 + (double)time.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_size);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}

void *must_have(void *memory)
{
    if (memory == NULL)
        err(2, "cannot get memory");
    return memory;
}
