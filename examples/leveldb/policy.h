/* SPDX-License-Identifier: MIT
 *
 * Filters of bloomfile as LevelDB's filter policy.
 *
 *     struct policy_counts counts = { 0 };
 *     leveldb_filterpolicy_t *policy = leveldb_filterpolicy_create_bloomfile(10, &counts);
 *     leveldb_options_set_filter_policy(options, policy);
 *     leveldb_options_set_paranoid_checks(options, 1);
 *     ...
 *     leveldb_close(db);
 *     leveldb_filterpolicy_destroy(policy);    // after the database
 *
 * paranoid_checks are required: only they verify the table that assigns filters to data blocks.
 *
 * The comparator must distinguish keys that differ in any byte, as LevelDB's own comparator and the
 * filter do.
 */
#ifndef POLICY_H
#define POLICY_H

#include <leveldb/c.h>

#include <stdatomic.h>
#include <stdint.h>

/* Counts filters that could not be used. Written on errors only: LevelDB looks up keys in any
 * thread, and a counter that two threads write for each key costs more than the lookup. */
struct policy_counts {
    _Atomic uint64_t unusable; /* filters that answered "maybe", so the data block is read */
    _Atomic int error;         /* of the latest: see bloomfile_strerror() */
};

/* Counts the lookups of this thread. */
struct policy_tally {
    uint64_t asked;   /* lookups in filters */
    uint64_t refused; /* lookups that answered "no", so no data block is read */
};
extern _Thread_local struct policy_tally policy_tally;

/* Creates a policy. bits_per_key, from 1 to 64, is for new filters; old filters may have any number
 * of bits. `counts` may be NULL; otherwise it must live as long as the policy. Returns NULL if
 * memory is short or bits_per_key is out of range. */
leveldb_filterpolicy_t *leveldb_filterpolicy_create_bloomfile(int bits_per_key,
                                                              struct policy_counts *counts);

/* The parts of the policy, for use without a database: the test and the benchmark. They are as in
 * leveldb_filterpolicy_create(). policy_create_filter() returns a filter from malloc(), or NULL and
 * size 0 if memory is short. */
struct policy *policy_new(int bits_per_key, struct policy_counts *counts);
char *policy_create_filter(void *policy, const char *const *keys, const size_t *sizes, int count,
                           size_t *filter_size);
uint8_t policy_key_may_match(void *policy, const char *key, size_t size, const char *filter,
                             size_t filter_size);
const char *policy_name(void *policy);

#endif
