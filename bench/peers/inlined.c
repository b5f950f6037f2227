/* SPDX-License-Identifier: MIT
 *
 * bloomfile with its lookups compiled into the caller (bloomfile_inline.h), for this machine's
 * instructions: a sealed file, mapped and verified.
 */
#include "peers/contender.h"

#include <bloomfile_combine.h>
#include <bloomfile_inline.h>
#include <bloomfile_inspect.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/bench.h"

#define PATH "inlined.bloom"

struct subject {
    bloomfile_builder *builder;
    bloomfile *f;
    struct bloomfile_pinned pin;
};

static void *create(unsigned layout, uint64_t capacity, double bits_per_key, enum key_form form)
{
    (void)form;
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    struct subject *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    params.layout = layout;
    params.capacity = capacity;
    params.bits = (uint64_t)ceil((double)capacity * bits_per_key / 512) * 512;
    bench_check(bloomfile_builder_new(&s->builder, &params), "start a filter");
    return s;
}

static void destroy(void *filter)
{
    struct subject *s = filter;
    bloomfile_builder_free(s->builder);
    bloomfile_close(s->f);
    free(s);
}

static uint64_t digest_of(const struct subject *s, const struct keyset *keys, size_t i)
{
    if (keys->digests != NULL)
        return keys->digests[i];
    return bloomfile_hash(bloomfile_seed(s->f), keys->keys[i].data, keys->keys[i].size);
}

static void add_one(void *filter, const struct keyset *keys)
{
    bloomfile_builder *b = ((struct subject *)filter)->builder;
    for (size_t i = 0; i < keys->count; i++)
        bench_check(keys->digests != NULL
                        ? bloomfile_builder_add_digests(b, &keys->digests[i], 1)
                        : bloomfile_builder_add(b, keys->keys[i].data, keys->keys[i].size),
                    "add a key");
}

static bool finish(void *filter)
{
    struct subject *s = filter;
    bench_check(bloomfile_builder_finish(s->builder, PATH, BLOOMFILE_REPLACE), "build a filter");
    bloomfile_builder_free(s->builder);
    s->builder = NULL;
    bench_check(bloomfile_open(&s->f, PATH, BLOOMFILE_VERIFY_FULL | BLOOMFILE_PREFAULT),
                "open a filter");
    unlink(PATH);
    s->pin = (struct bloomfile_pinned)BLOOMFILE_PINNED_INIT;
    bench_check(bloomfile_pin(s->f, &s->pin), "pin a filter");
    return true;
}

static inline size_t look_up(const void *filter, const struct keyset *keys, const bool acting)
{
    const struct subject copy = *(const struct subject *)filter, *s = &copy;
    const struct keyset all = *keys;
    size_t found = 0;
    for (size_t i = 0; i < all.count; i++)
        found = keyset_count(
            found, bloomfile_pinned_contains_digest(&s->pin, digest_of(s, &all, i)), acting);
    return found;
}

static size_t look_up_one(const void *filter, const struct keyset *keys)
{
    return look_up(filter, keys, false);
}

static size_t look_up_acting(const void *filter, const struct keyset *keys)
{
    return look_up(filter, keys, true);
}

static size_t look_up_batch(const void *filter, const struct keyset *keys)
{
    const struct subject *s = filter;
    const struct keyset all = *keys;
    size_t found = 0;
    for (size_t first = 0, n; first < all.count; first += n) {
        uint64_t digests[KEYSET_BATCH];
        bool hits[KEYSET_BATCH];
        n = all.count - first < all.batch ? all.count - first : all.batch;
        if (all.digests == NULL)
            for (size_t i = 0; i < n; i++)
                digests[i] = digest_of(s, &all, first + i);
        found += bloomfile_pinned_contains_digests(
            &s->pin, all.digests != NULL ? all.digests + first : digests, n, hits);
    }
    return found;
}

static uint64_t bytes(const void *filter)
{
    size_t size;
    bloomfile_body(((const struct subject *)filter)->f, &size);
    return size;
}

const struct contender contenders[] = {
    { "bloomfile blocked, inlined", "", BLOOMFILE_BLOCKED, create, add_one, NULL, finish,
      look_up_one, look_up_acting, look_up_batch, bytes, destroy },
};
const size_t contenders_count = 1;
