/* SPDX-License-Identifier: MIT
 * A filter policy that counts lookups and their results, and the keys of bench-leveldb. */
#include "leveldb.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "harness/bench.h"
#include "policy.h"

/* ---- a policy that counts calls and passes them on */

struct subject_ways {
    const char *label;
    char *(*create_filter)(void *, const char *const *, const size_t *, int, size_t *);
    uint8_t (*key_may_match)(void *, const char *, size_t, const char *, size_t);
    const char *(*name)(void *);
    void (*release)(void *);
};

static const struct subject_ways ways_of_leveldb = { "built-in", builtin_create_filter,
                                                     builtin_key_may_match, builtin_name,
                                                     builtin_free };
static const struct subject_ways ways_of_bloomfile = { "bloomfile", policy_create_filter,
                                                       policy_key_may_match, policy_name, free };

struct subject subject_new(enum subject_kind kind, int bits_per_key)
{
    if (kind == SUBJECT_NONE)
        return (struct subject){ 0 };
    struct subject s = { .ways = kind == SUBJECT_BUILTIN ? &ways_of_leveldb : &ways_of_bloomfile,
                         .bits_per_key = bits_per_key };
    s.policy = kind == SUBJECT_BUILTIN ? builtin_new(bits_per_key)
                                       : (void *)policy_new(bits_per_key, NULL);
    if (s.policy == NULL)
        bench_fail(errno, "make a filter policy");
    return s;
}

void subject_free(struct subject *s)
{
    if (s->ways != NULL)
        s->ways->release(s->policy);
}

const char *subject_label(const struct subject *s)
{
    return s->ways == NULL ? "none" : s->ways->label;
}

char *subject_create_filter(void *subject, const char *const *keys, const size_t *sizes, int count,
                            size_t *filter_size)
{
    const struct subject *s = subject;
    return s->ways->create_filter(s->policy, keys, sizes, count, filter_size);
}

uint8_t subject_key_may_match(void *subject, const char *key, size_t size, const char *filter,
                              size_t filter_size)
{
    struct subject *s = subject;
    const uint8_t maybe = s->ways->key_may_match(s->policy, key, size, filter, filter_size);
    s->asked++;
    s->refused += !maybe;
    return maybe;
}

static const char *name(void *s)
{
    const struct subject *subject = s;
    return subject->ways->name(subject->policy);
}

static void keep(void *s)
{
    (void)s;
}

leveldb_filterpolicy_t *subject_policy(struct subject *s)
{
    return s->ways == NULL ? NULL
                           : leveldb_filterpolicy_create(s, keep, subject_create_filter,
                                                         subject_key_may_match, name);
}

double subject_rate(const struct subject *s)
{
    return s->asked == 0 ? 1 : 1 - (double)s->refused / (double)s->asked;
}

/* ---- keys */

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
