/* SPDX-License-Identifier: MIT
 *
 * A contender in a comparison: one filter of one library, in a process of its own. A contender is a
 * list of functions; serve.c makes a program of it that the driver (bench-peers, peers.py) talks
 * to.
 */
#ifndef BLOOMFILE_BENCH_CONTENDER_H
#define BLOOMFILE_BENCH_CONTENDER_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What a key is. */
enum key_form {
    KEYS_HASHED,   /* 8 bytes that are evenly spread: a digest, for those who take digests */
    KEYS_16_BYTES, /* 16 bytes */
    KEYS_60_BYTES, /* 60 bytes */
    KEYS_MIXED,    /* 20 to 80 bytes, in random order */
};

/* A stretch of keys in memory, all of one form. */
struct keyset_key {
    const char *data;
    size_t size;
};

#define KEYSET_BATCH 4096

struct keyset {
    enum key_form form;
    size_t count;
    size_t batch;                  /* the most keys of a batch call, up to KEYSET_BATCH */
    const uint64_t *digests;       /* KEYS_HASHED only; else NULL */
    const struct keyset_key *keys; /* every form; KEYS_HASHED: the 8 bytes of the digest */
};

/* found + hit. If it is acted on, by a branch, which no compiler can turn into arithmetic: so
 * programs use an answer. */
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
    const char *version; /* of the library */
    unsigned variant;    /* for create(), which may make several */
    /* A filter for `capacity` keys of about bits_per_key bits each, empty; NULL: cannot (and says
     * why on stderr). */
    void *(*create)(unsigned variant, uint64_t capacity, double bits_per_key, enum key_form form);
    /* Adds keys, one by one, or as a batch (NULL: there is no such call). */
    void (*add_one)(void *filter, const struct keyset *keys);
    void (*add_batch)(void *filter, const struct keyset *keys);
    /* After all keys have been added; offline builders build here. false: cannot. NULL: adds take
     * effect at once. */
    bool (*finish)(void *filter);
    /* How many of the keys may be in it: by one call a key, in a loop; so with each answer acted
     * on (NULL: not measured); or by batch calls (NULL: there are none). */
    size_t (*lookup_one)(const void *filter, const struct keyset *keys);
    size_t (*lookup_acting)(const void *filter, const struct keyset *keys);
    size_t (*lookup_batch)(const void *filter, const struct keyset *keys);
    uint64_t (*bytes)(const void *filter); /* of the filter's bits in memory */
    void (*destroy)(void *filter);
};

/* Each program defines these. */
extern const struct contender contenders[];
extern const size_t contenders_count;

#ifdef __cplusplus
}
#endif

#endif
