/* SPDX-License-Identifier: MIT
 *
 * The program around contenders. It reads requests, one on each line, and answers each with a line:
 * "ok A B"; "none" if the contender has no such function; "no" after an error, whose reason it
 * prints to standard error.
 *
 *     name INDEX                           its name, a tab, its version; "none" after the last
 * index queries FORM KEYS COUNT              makes COUNT present and COUNT absent keys to look up
 *     create INDEX KEYS BITS FORM          a filter for KEYS keys of BITS bits each; A: seconds
 *     add INDEX one|batch COUNT            adds the next keys; A: seconds
 *     again INDEX one|batch COUNT          adds the first COUNT keys again
 *     finish INDEX                         A: seconds, B: bytes of the filter
 *     lookup INDEX HOW present|absent      A: seconds, B: number of hits
 *     drop INDEX
 *
 * HOW is one (a call for each key), acting (the same, with a branch on each result), batch, or the
 * number of keys in a batch.
 *
 * Times are processor times, so other programs on the same core do not count. Making keys is not
 * timed. The program ends at the end of its input.
 */
#include "peers/contender.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "format/probe.h"
#include "harness/bench.h"

#define MOST  32
#define CHUNK 65536 /* keys made before they are added */
#define WORD  16

#define KEYSETS_FORMS 4

/* ---- keys, which depend only on their number, so that all contenders get the same keys */

#define SAMPLE_SEED 1
#define MOST_WORDS  10

/* A set and its arrays, which the set has as constants. */
struct store {
    struct keyset set;
    uint64_t *digests;
    struct keyset_key *keys;
    char *bytes;
    size_t used; /* bytes used */
};

static const struct {
    size_t least, most;
} sizes[KEYSETS_FORMS] = {
    [KEYS_HASHED] = { 8, 8 },
    [KEYS_16_BYTES] = { 16, 16 },
    [KEYS_60_BYTES] = { 60, 60 },
    [KEYS_MIXED] = { 20, 80 },
};

/* Makes room for `room` keys. */
static struct keyset *keysets_new(enum key_form form, size_t room)
{
    struct store *s = bench_memory(calloc(1, sizeof *s));
    s->keys = bench_memory(calloc(room, sizeof *s->keys));
    if (form == KEYS_HASHED)
        s->digests = bench_memory(calloc(room, sizeof *s->digests));
    else
        s->bytes = bench_memory(calloc(room, sizes[form].most));
    s->set = (struct keyset){ .form = form, .digests = s->digests, .keys = s->keys };
    return &s->set;
}

static void keysets_free(struct keyset *set)
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

/* Writes the bytes of a key. The first eight bytes differ between all keys. */
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

/* Fills a set with keys first .. first + count - 1. */
static void keysets_range(struct keyset *set, uint64_t first, size_t count)
{
    struct store *s = empty(set, count);
    for (size_t i = 0; i < count; i++)
        put(s, i, first + i);
}

/* Fills a set with `count` random keys of 0 .. below - 1, in random order. */
static void keysets_sample(struct keyset *set, uint64_t below, size_t count)
{
    struct store *s = empty(set, count);
    for (size_t i = 0; i < count; i++)
        put(s, i, probe_reduce(digest_of(i, SAMPLE_SEED), below));
}

/* ---- requests */

static struct filter {
    void *it;
    enum key_form form;
    uint64_t added;
} filters[MOST];

static struct keyset *present, *absent, *chunk;

static void ok(double seconds, uint64_t number)
{
    printf("ok %.9f %" PRIu64 "\n", seconds, number);
}

static void make_queries(enum key_form form, uint64_t keys, size_t count)
{
    keysets_free(present);
    keysets_free(absent);
    present = keysets_new(form, count);
    absent = keysets_new(form, count);
    keysets_sample(present, keys, count);
    keysets_range(absent, keys, count);
    ok(0, count);
}

static void create(unsigned i, uint64_t keys, double bits, enum key_form form)
{
    const double start = bench_processor_seconds();
    filters[i] =
        (struct filter){ contenders[i].create(contenders[i].variant, keys, bits, form), form, 0 };
    if (filters[i].it == NULL)
        puts("no");
    else
        ok(bench_processor_seconds() - start, 0);
}

/* The keys in a batch; 0 for one by one. */
static size_t batch_of(const char *how)
{
    const size_t batch = strcmp(how, "batch") == 0 ? KEYSET_BATCH : strtoul(how, NULL, 10);
    return batch < KEYSET_BATCH ? batch : KEYSET_BATCH;
}

/* Adds `count` keys from number `first` on, if the contender has such a call. */
static bool add(unsigned i, const char *word, uint64_t first, uint64_t count)
{
    struct filter *f = &filters[i];
    const size_t batch = batch_of(word);
    void (*const how)(void *, const struct keyset *) =
        batch > 0 ? contenders[i].add_batch : contenders[i].add_one;
    if (how == NULL) {
        puts("none");
        return false;
    }
    if (chunk == NULL || chunk->form != f->form) {
        keysets_free(chunk);
        chunk = keysets_new(f->form, CHUNK);
    }
    chunk->batch = batch;
    double seconds = 0;
    for (uint64_t done = 0; done < count; done += chunk->count) {
        keysets_range(chunk, first + done, count - done < CHUNK ? (size_t)(count - done) : CHUNK);
        const double start = bench_processor_seconds();
        how(f->it, chunk);
        seconds += bench_processor_seconds() - start;
    }
    ok(seconds, count);
    return true;
}

static void finish(unsigned i)
{
    keysets_free(chunk);
    chunk = NULL;
    const double start = bench_processor_seconds();
    const bool done = contenders[i].finish == NULL || contenders[i].finish(filters[i].it);
    const double seconds = bench_processor_seconds() - start;
    if (done)
        ok(seconds, contenders[i].bytes(filters[i].it));
    else
        puts("no");
}

static void look_up(unsigned i, const char *word, struct keyset *keys)
{
    keys->batch = batch_of(word);
    size_t (*const how)(const void *, const struct keyset *) =
        keys->batch > 0               ? contenders[i].lookup_batch
        : strcmp(word, "acting") == 0 ? contenders[i].lookup_acting
                                      : contenders[i].lookup_one;
    if (how == NULL) {
        puts("none");
        return;
    }
    const double start = bench_processor_seconds();
    const size_t hits = how(filters[i].it, keys);
    ok(bench_processor_seconds() - start, hits);
}

static void drop(unsigned i)
{
    contenders[i].destroy(filters[i].it);
    filters[i].it = NULL;
    ok(0, 0);
}

/* Serves a request for an existing filter. */
static bool serve_filter(const char *line, unsigned i)
{
    char how[WORD], which[WORD];
    uint64_t count;
    if (sscanf(line, "add %*u %15s %" SCNu64, how, &count) == 2) {
        filters[i].added += add(i, how, filters[i].added, count) ? count : 0;
    } else if (sscanf(line, "again %*u %15s %" SCNu64, how, &count) == 2) {
        if (contenders[i].finish != NULL) /* a builder may count or keep repeated keys */
            puts("none");
        else
            add(i, how, 0, count);
    } else if (sscanf(line, "lookup %*u %15s %15s", how, which) == 2)
        look_up(i, how, strcmp(which, "present") == 0 ? present : absent);
    else if (strncmp(line, "finish", 6) == 0)
        finish(i);
    else if (strncmp(line, "drop", 4) == 0)
        drop(i);
    else
        return false;
    return true;
}

static bool serve(const char *line)
{
    unsigned i, form;
    uint64_t keys;
    size_t count;
    double bits;
    if (sscanf(line, "queries %u %" SCNu64 " %zu", &form, &keys, &count) == 3 &&
        form < KEYSETS_FORMS)
        make_queries(form, keys, count);
    else if (sscanf(line, "name %u", &i) == 1 && i < contenders_count)
        printf("%s\t%s\n", contenders[i].name, contenders[i].version);
    else if (sscanf(line, "name %u", &i) == 1)
        puts("none");
    else if (sscanf(line, "create %u %" SCNu64 " %lf %u", &i, &keys, &bits, &form) == 4 &&
             i < contenders_count && form < KEYSETS_FORMS)
        create(i, keys, bits, form);
    else
        return sscanf(line, "%*s %u", &i) == 1 && i < contenders_count && filters[i].it != NULL &&
               serve_filter(line, i);
    return true;
}

int main(void)
{
    char line[128];
    if (contenders_count > MOST)
        bench_fail(0, "keep so many contenders");
    while (fgets(line, sizeof line, stdin) != NULL) {
        if (!serve(line))
            bench_fail(0, "understand the request; start bench-peers, which makes them");
        bench_flush();
    }
    for (unsigned i = 0; i < contenders_count; i++)
        if (filters[i].it != NULL)
            contenders[i].destroy(filters[i].it);
    keysets_free(present);
    keysets_free(absent);
    keysets_free(chunk);
    return 0;
}
