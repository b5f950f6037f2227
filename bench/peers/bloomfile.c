/* SPDX-License-Identifier: MIT
 *
 * bloomfile's own contenders: a sealed file of each layout, mapped and verified, and a live file.
 *
 * Sealed files are in the working directory. If a contender gets no keys, it opens the file that is
 * already there, damaged or not, so processes with different kernels use the same file.
 * BLOOMFILE_KERNEL names the kernel. A contender fails if it has another kernel.
 */
#include "peers/contender.h"

#include <bloomfile_inspect.h>
#include <bloomfile_live.h>
#include <bloomfile_unstable.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "harness/bench.h"

#define MEMORY ((uint64_t)2 << 30)
#define PAGE   4096

struct subject {
    struct bloomfile_params params;
    char path[32];
    bloomfile_builder *builder;
    bloomfile_filter *f;
};

_Static_assert(sizeof(struct keyset_key) == sizeof(struct bloomfile_key) &&
                   offsetof(struct keyset_key, size) == offsetof(struct bloomfile_key, size),
               "keys are handed on as they are");

static const struct bloomfile_key *bloomfile_keys(const struct keyset *keys, size_t first)
{
    return (const void *)(keys->keys + first);
}

static bool has_the_kernel(const bloomfile_filter *f)
{
    const char *wanted = getenv("BLOOMFILE_KERNEL"), *name = bloomfile_kernel_name(f);
    return wanted == NULL || strcmp(wanted, name) == 0;
}

/* Touches every page, so that it is mapped. */
static void warm_up(const bloomfile_filter *f)
{
    size_t size;
    const volatile uint8_t *body = bloomfile_body(f, &size);
    for (size_t at = 0; at < size; at += PAGE)
        (void)body[at];
}

static void *create(unsigned layout, uint64_t capacity, double bits_per_key, enum key_form form)
{
    (void)form;
    struct subject *s = calloc(1, sizeof *s);
    if (s == NULL)
        return NULL;
    const uint64_t unit =
        layout == BLOOMFILE_LAYOUT_BLOCKED || layout == BLOOMFILE_LAYOUT_RIBBON ? 512 : 8;
    s->params = BLOOMFILE_PARAMS_INIT;
    s->params.layout = layout;
    s->params.capacity = capacity;
    s->params.bits = (uint64_t)ceil((double)capacity * bits_per_key / (double)unit) * unit;
    s->params.memory = MEMORY;
    snprintf(s->path, sizeof s->path, "%s.bloom", bench_layout_name(layout));
    return s;
}

static void destroy(void *filter)
{
    struct subject *s = filter;
    bloomfile_builder_free(s->builder);
    bloomfile_close(s->f);
    unlink(s->path);
    free(s);
}

static void *create_live(unsigned layout, uint64_t capacity, double bits_per_key,
                         enum key_form form)
{
    struct subject *s = create(layout, capacity, bits_per_key, form);
    if (s == NULL)
        return NULL;
    s->params.memory = 0; /* only builders accept it */
    snprintf(s->path, sizeof s->path, "live-%ld.bloom", (long)getpid());
    int error = bloomfile_create(&s->f, s->path, &s->params, 0);
    unlink(s->path);
    if (error != 0)
        fprintf(stderr, "cannot create a live filter: %s\n", bloomfile_strerror(error));
    if (error != 0 || !has_the_kernel(s->f)) {
        destroy(s);
        return NULL;
    }
    warm_up(s->f);
    return s;
}

/* ---- sealed */

static bloomfile_builder *builder_of(struct subject *s)
{
    if (s->builder == NULL)
        bench_check(bloomfile_builder_new(&s->builder, &s->params), "start a filter");
    return s->builder;
}

static void build_one(void *filter, const struct keyset *keys)
{
    bloomfile_builder *b = builder_of(filter);
    for (size_t i = 0; i < keys->count; i++)
        bench_check(keys->digests != NULL
                        ? bloomfile_builder_add_digests(b, &keys->digests[i], 1)
                        : bloomfile_builder_add(b, keys->keys[i].data, keys->keys[i].size),
                    "add a key");
}

static void build_batch(void *filter, const struct keyset *keys)
{
    bloomfile_builder *b = builder_of(filter);
    bench_check(keys->digests != NULL
                    ? bloomfile_builder_add_digests(b, keys->digests, keys->count)
                    : bloomfile_builder_add_many(b, bloomfile_keys(keys, 0), keys->count),
                "add keys");
}

static bool seal(void *filter)
{
    struct subject *s = filter;
    struct bloomfile_destination to = bloomfile_to_path(s->path, BLOOMFILE_TO_REPLACE);
    if (s->builder != NULL)
        bench_check(bloomfile_builder_write(s->builder, &to), "build a filter");
    bloomfile_builder_free(s->builder);
    s->builder = NULL;
    int error = bloomfile_open(&s->f, s->path, BLOOMFILE_OPEN_VERIFY_FULL);
    if (error == BLOOMFILE_EPAGE) { /* for measuring lookups in a damaged file */
        error = bloomfile_open(&s->f, s->path, 0);
        if (error == 0)
            bloomfile_verify(s->f, 1, NULL);
    }
    bench_check(error, "open a filter");
    warm_up(s->f);
    return has_the_kernel(s->f);
}

/* ---- live */

static void add_one(void *filter, const struct keyset *keys)
{
    bloomfile_filter *f = ((struct subject *)filter)->f;
    for (size_t i = 0; i < keys->count; i++)
        bench_check(keys->digests != NULL
                        ? bloomfile_add_digest(f, keys->digests[i], NULL)
                        : bloomfile_add(f, keys->keys[i].data, keys->keys[i].size, NULL),
                    "add a key");
}

static void add_batch(void *filter, const struct keyset *keys)
{
    bloomfile_filter *f = ((struct subject *)filter)->f;
    bench_check(keys->digests != NULL
                    ? bloomfile_add_digests(f, keys->digests, keys->count, NULL, NULL, NULL)
                    : bloomfile_add_many(f, bloomfile_keys(keys, 0), keys->count, NULL, NULL, NULL),
                "add keys");
}

/* ---- lookups */

static inline size_t look_up(const void *filter, const struct keyset *keys, const bool acting)
{
    const bloomfile_filter *f = ((const struct subject *)filter)->f;
    const struct keyset all = *keys; /* a local copy, which calls cannot change */
    size_t found = 0;
    for (size_t i = 0; i < all.count; i++) {
        const bool hit = all.digests != NULL
                             ? bloomfile_contains_digest(f, all.digests[i])
                             : bloomfile_contains(f, all.keys[i].data, all.keys[i].size);
        found = keyset_count(found, hit, acting);
    }
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
    const bloomfile_filter *f = ((const struct subject *)filter)->f;
    const struct keyset all = *keys;
    bool hits[KEYSET_BATCH];
    size_t found = 0;
    for (size_t first = 0, n; first < all.count; first += n) {
        n = all.count - first < all.batch ? all.count - first : all.batch;
        found += all.digests != NULL
                     ? bloomfile_contains_digests(f, all.digests + first, n, hits)
                     : bloomfile_contains_many(f, bloomfile_keys(&all, first), n, hits);
    }
    return found;
}

static uint64_t bytes(const void *filter)
{
    size_t size;
    bloomfile_body(((const struct subject *)filter)->f, &size);
    return size;
}

#define CONTENDER(name, layout, create, one, batch, finish)                                        \
    {                                                                                              \
        name, "", layout, create, one, batch, finish, look_up_one, look_up_acting, look_up_batch,  \
            bytes, destroy                                                                         \
    }

const struct contender contenders[] = {
    CONTENDER("bloomfile blocked", BLOOMFILE_LAYOUT_BLOCKED, create, build_one, build_batch, seal),
    CONTENDER("bloomfile classic", BLOOMFILE_LAYOUT_CLASSIC, create, build_one, build_batch, seal),
    CONTENDER("bloomfile counting", BLOOMFILE_LAYOUT_COUNTING, create, build_one, build_batch,
              seal),
    CONTENDER("bloomfile ribbon", BLOOMFILE_LAYOUT_RIBBON, create, build_one, build_batch, seal),
    CONTENDER("bloomfile blocked, live", BLOOMFILE_LAYOUT_BLOCKED, create_live, add_one, add_batch,
              NULL),
};
const size_t contenders_count = sizeof contenders / sizeof contenders[0];
