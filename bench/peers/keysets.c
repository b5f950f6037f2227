/* SPDX-License-Identifier: MIT */
#include "peers/keysets.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "format/probe.h"
#include "harness/bench.h"

#define SAMPLE_SEED 1
#define MOST_WORDS  10

/* The arrays of a set, which it shows as constants. */
struct store {
    struct keyset set;
    uint64_t *digests;
    struct keyset_key *keys;
    char *bytes;
    size_t used; /* of bytes */
};

static const struct {
    size_t least, most;
} sizes[KEYSETS_FORMS] = {
    [KEYS_HASHED] = { 8, 8 },
    [KEYS_16_BYTES] = { 16, 16 },
    [KEYS_60_BYTES] = { 60, 60 },
    [KEYS_MIXED] = { 20, 80 },
};

static void *reserve(size_t count, size_t size)
{
    void *memory = calloc(count, size);
    if (memory == NULL)
        bench_fail(errno, "keep keys in memory; try fewer");
    return memory;
}

struct keyset *keysets_new(enum key_form form, size_t room)
{
    struct store *s = reserve(1, sizeof *s);
    s->keys = reserve(room, sizeof *s->keys);
    if (form == KEYS_HASHED)
        s->digests = reserve(room, sizeof *s->digests);
    else
        s->bytes = reserve(room, sizes[form].most);
    s->set = (struct keyset){ .form = form, .digests = s->digests, .keys = s->keys };
    return &s->set;
}

void keysets_free(struct keyset *set)
{
    struct store *s = (struct store *)set;
    if (s == NULL)
        return;
    free(s->digests);
    free(s->keys);
    free(s->bytes);
    free(s);
}

static uint64_t digest_of(uint64_t number, uint64_t seed)
{
    return XXH3_64bits_withSeed(&number, sizeof number, seed);
}

/* Writes the key's bytes; the first eight tell all keys apart. */
static size_t write_key(char *to, enum key_form form, uint64_t number)
{
    const uint64_t digest = digest_of(number, 0);
    const size_t least = sizes[form].least, choices = sizes[form].most - least + 1;
    const size_t size = least + (size_t)probe_reduce(digest * PROBE_MULTIPLIER, choices);
    uint64_t words[MOST_WORDS];
    for (uint64_t i = 0; i < MOST_WORDS; i++)
        words[i] = digest ^ i * PROBE_MULTIPLIER;
    memcpy(to, words, size);
    return size;
}

static void put(struct store *s, size_t i, uint64_t number)
{
    if (s->set.form == KEYS_HASHED) {
        s->digests[i] = digest_of(number, 0);
        s->keys[i] = (struct keyset_key){ (const char *)&s->digests[i], sizeof s->digests[i] };
        return;
    }
    char *to = s->bytes + s->used;
    s->keys[i] = (struct keyset_key){ to, write_key(to, s->set.form, number) };
    s->used += s->keys[i].size;
}

static struct store *empty(struct keyset *set, size_t count)
{
    struct store *s = (struct store *)set;
    s->used = 0;
    s->set.count = count;
    return s;
}

void keysets_range(struct keyset *set, uint64_t first, size_t count)
{
    struct store *s = empty(set, count);
    for (size_t i = 0; i < count; i++)
        put(s, i, first + i);
}

void keysets_sample(struct keyset *set, uint64_t below, size_t count)
{
    struct store *s = empty(set, count);
    for (size_t i = 0; i < count; i++)
        put(s, i, probe_reduce(digest_of(i, SAMPLE_SEED), below));
}
