/* SPDX-License-Identifier: MIT
 *
 * bench-leveldb - our filters beside LevelDB's own, and beside none
 */
#include "leveldb.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "engine.h"
#include "harness/program.h"
#include "policy.h"

/* ---- a policy: what was asked is counted, and handed on */

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

static struct measure_options o;
static uint64_t only_filters;

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

static void run(void)
{
    o.filters = o.rows / 50;
    if (only_filters != 0)
        measure_filters(&o);
    else
        measure_databases(&o);
    engine_report_stayed();
}

static uint64_t room(void)
{
    return only_filters != 0 ? 0 : 6 * o.rows * (KEY_SIZE + o.value_size) + ((uint64_t)64 << 20);
}

const struct benchmark benchmark = {
    .what =
            "Databases with filters of bloomfile, LevelDB's own, and none, which take 310 MB with the usual\n"
            "numbers; or, with --filters, the filters of data blocks alone. The last has LevelDB's filters, but\n"
            "as large as ours are with their trailer.\n"
            "\n"
            "Times are those of a whole round by its number of gets; in parentheses, the ratio to the\n"
            "time without filters. Warm: all blocks are in LevelDB's cache. Cold: the filters are in\n"
            "memory and no data is; files are read page by page, without reading ahead, and their\n"
            "bytes counted by /proc/self/io. Absent keys lie between neighbours that are present.\n",
    .options = {
        OPTION_NUMBER("rows", &o.rows, 1000000, 50000, 1000, 100000000, "rows of each database"),
        OPTION_NUMBER("size", &o.value_size, 100, 100, 0, 1000000, "bytes of a value"),
        OPTION_NUMBER("bits", &o.bits_per_key, 10, 10, 1, 50, "bits a key"),
        OPTION_NUMBER("rounds", &o.rounds, 5, 3, 1, ENGINE_MAX_ROUNDS, "rounds, whose medians are shown"),
        OPTION_NUMBER("warm", &o.warm, 100000, 10000, 1, 100000000, "gets a round, of absent and of present keys"),
        OPTION_NUMBER("cold", &o.cold, 1000, 100, 1, 100000000, "gets a round, of either, with no data in memory"),
        OPTION_FLAG("sequential", &o.sequential, "keys user000000000000 and so on, instead of random ones"),
        OPTION_FLAG("filters", &only_filters, "no database; filters of 20, 30 and 40 keys, a fiftieth of the rows of each"),
    },
    .room = room,
    .run = run,
};
