/* SPDX-License-Identifier: MIT
 *
 * bench-leveldb: its options, its keys, its two tables; and a filter policy that is measured: what
 * it was asked, and what it answered.
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
    uint64_t warm, cold;       /* gets a round */
    uint64_t filters;          /* made a round */
    uint64_t sequential;       /* keys, not random; else 0 */
};

/* The current directory is for databases. */
void measure_databases(const struct measure_options *o);
void measure_filters(const struct measure_options *o);

#define KEY_SIZE 16

struct key {
    char text[KEY_SIZE];
};

/* `count` different keys in order, to be released by free(): user000000000000 and so on, or random
 * hexadecimal numbers. */
struct key *keys_make(size_t count, bool random);

/* The i-th of a fixed sequence that looks random, below `end`. */
uint64_t scattered(uint64_t i, uint64_t end);

enum subject_kind {
    SUBJECT_NONE,
    SUBJECT_BUILTIN,
    SUBJECT_BLOOMFILE
};

struct subject_ways;

struct subject {
    const struct subject_ways *ways; /* NULL: no filters */
    void *policy;
    int bits_per_key;
    uint64_t asked, refused; /* filters, and "certainly not" */
};

struct subject subject_new(enum subject_kind kind, int bits_per_key);
void subject_free(struct subject *s);
const char *subject_label(const struct subject *s);

/* Of a struct subject, as LevelDB calls them. */
char *subject_create_filter(void *subject, const char *const *keys, const size_t *sizes, int count,
                            size_t *filter_size);
uint8_t subject_key_may_match(void *subject, const char *key, size_t size, const char *filter,
                              size_t filter_size);

/* For a database, which asks the subject then; NULL for no filters. */
leveldb_filterpolicy_t *subject_policy(struct subject *s);

/* What its answers to keys that are not there cost: false positives among the filters asked. */
double subject_rate(const struct subject *s);

/* ---- leveldb_builtin.cc: the policy that LevelDB brings along, in the form of policy.h. C++, for
 * LevelDB's C interface can make it but not ask it. */

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
