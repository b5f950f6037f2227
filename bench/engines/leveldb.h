/* SPDX-License-Identifier: MIT
 *
 * bench-leveldb: its options, its keys, its two tables, and a filter policy that counts lookups and
 * their results.
 */
#ifndef BLOOMFILE_BENCH_LEVELDB_H
#define BLOOMFILE_BENCH_LEVELDB_H

#include <leveldb/c.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct measure_options {
    uint64_t bits_per_key;
    uint64_t rounds;
    uint64_t rows, value_size; /* of each database */
    uint64_t warm, cold;       /* gets in each round */
    uint64_t filters;          /* filters made in each round */
    uint64_t sequential;       /* 1 for sequential keys, 0 for random keys */
};

/* Both write to the current directory. */
void measure_databases(const struct measure_options *o);
void measure_filters(const struct measure_options *o);

#define KEY_SIZE 16

struct key {
    char text[KEY_SIZE];
};

/* Makes `count` different keys in order: user000000000000 and so on, or random hexadecimal numbers.
 * Release them by free(). */
struct key *keys_make(size_t count, bool random);

/* The i-th number of a fixed pseudorandom sequence below `end`. */
uint64_t scattered(uint64_t i, uint64_t end);

enum subject_kind {
    SUBJECT_NONE,
    SUBJECT_BUILTIN,
    SUBJECT_BLOOMFILE
};

struct subject_ways;

struct subject {
    const struct subject_ways *ways; /* NULL without filters */
    void *policy;
    int bits_per_key;
    uint64_t asked, refused; /* lookups, and those with the result "certainly not" */
};

struct subject subject_new(enum subject_kind kind, int bits_per_key);
void subject_free(struct subject *s);
const char *subject_label(const struct subject *s);

/* The functions of a struct subject, as LevelDB calls them. */
char *subject_create_filter(void *subject, const char *const *keys, const size_t *sizes, int count,
                            size_t *filter_size);
uint8_t subject_key_may_match(void *subject, const char *key, size_t size, const char *filter,
                              size_t filter_size);

/* The subject as a filter policy for a database; NULL without filters. */
leveldb_filterpolicy_t *subject_policy(struct subject *s);

/* The share of lookups of absent keys that were false positives. */
double subject_rate(const struct subject *s);

/* ---- leveldb_builtin.cc: LevelDB's own policy, in the form of policy.h. It is C++, because
 * LevelDB's C interface can create this policy but not call it. */

#ifdef __cplusplus
extern "C" {
#endif
void *builtin_new(int bits_per_key);
void builtin_free(void *policy);
char *builtin_create_filter(void *policy, const char *const *keys, const size_t *sizes, int count,
                            size_t *filter_size);
uint8_t builtin_key_may_match(void *policy, const char *key, size_t size, const char *filter,
                              size_t filter_size);
const char *builtin_name(void *policy);
#ifdef __cplusplus
}
#endif

#endif
