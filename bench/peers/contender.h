/* SPDX-License-Identifier: MIT
 *
 * A contender in a comparison: one filter of one library, in a process of its own. A contender is a
 * list of functions, of which serve.c makes a program. The driver (bench-peers, peers.py) sends
 * requests to it.
 */
#ifndef BLOOMFILE_BENCH_CONTENDER_H
#define BLOOMFILE_BENCH_CONTENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* The form of keys. */
enum key_form {
    KEYS_HASHED,   /* 8 bytes that are evenly spread: digests, for contenders that take digests */
    KEYS_16_BYTES, /* 16 bytes */
    KEYS_60_BYTES, /* 60 bytes */
    KEYS_MIXED,    /* 20 to 80 bytes, in random order */
};

/* Keys in memory, all of the same form. */
struct keyset_key {
    const char *data;
    size_t size;
};

#define KEYSET_BATCH 4096

struct keyset {
    enum key_form form;
    size_t count;
    size_t batch;                  /* the most keys of a batch call, up to KEYSET_BATCH */
    const uint64_t *digests;       /* for KEYS_HASHED, otherwise NULL */
    const struct keyset_key *keys; /* for every form; for KEYS_HASHED, the 8 bytes of the digest */
};

/* Returns found + hit. If acted_on, computes it by a branch that the compiler cannot turn into
 * arithmetic, as programs branch on the result of a lookup. */
static inline size_t keyset_count(size_t found, bool hit, const bool acted_on)
{
    if (!acted_on)
        return found + hit;
    if (hit) {
        __asm__ volatile("" : "+r"(found));
        found++;
    }
    return found;
}

struct contender {
    const char *name;    /* "LevelDB" */
    const char *version; /* version of the library */
    unsigned variant;    /* passed to create(), which may make several filters */
    /* Makes an empty filter for `capacity` keys of about bits_per_key bits each. Returns NULL on an
     * error, after it printed the reason to standard error. */
    void *(*create)(unsigned variant, uint64_t capacity, double bits_per_key, enum key_form form);
    /* Add keys, one by one or as a batch. NULL if the library has no such call. */
    void (*add_one)(void *filter, const struct keyset *keys);
    void (*add_batch)(void *filter, const struct keyset *keys);
    /* Called after all keys are added: offline builders build here. Returns false on an error. NULL
     * if adds take effect immediately. */
    bool (*finish)(void *filter);
    /* Count the keys that may be in the filter: by one call for each key; by one call and a branch
     * on each result (NULL if not measured); by batch calls (NULL without batch calls). */
    size_t (*lookup_one)(const void *filter, const struct keyset *keys);
    size_t (*lookup_acting)(const void *filter, const struct keyset *keys);
    size_t (*lookup_batch)(const void *filter, const struct keyset *keys);
    uint64_t (*bytes)(const void *filter); /* size of the filter's bits in memory */
    void (*destroy)(void *filter);
};

/* Each program defines these. */
extern const struct contender contenders[];
extern const size_t contenders_count;

#ifdef __cplusplus
}
#endif

#endif
