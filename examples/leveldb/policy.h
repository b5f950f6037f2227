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
 * paranoid_checks are needed: which filter is whose is said by a table that only they verify.
 *
 * The comparator must tell keys apart that differ in any byte, as LevelDB's own does: the filter
 * does.
 */
#ifndef POLICY_H
#define POLICY_H

#include <leveldb/c.h>

#include <stdatomic.h>
#include <stdint.h>

/* Filters that could not be used. Written to on errors only: LevelDB looks keys up in any thread,
 * and a counter that two threads write for each key costs more than the lookup. */
struct policy_counts {
    _Atomic uint64_t unusable; /* filters: "maybe", so the data block is read */
    _Atomic int error;         /* why the latest of these: bloomfile_strerror() */
};

/* The lookups of this thread. */
struct policy_tally {
    uint64_t asked;   /* filters */
    uint64_t refused; /* keys: certainly not there, so no data block is read */
};
extern _Thread_local struct policy_tally policy_tally;

/* For new filters; old ones may have any number of bits. `counts` may be NULL, and else must live
 * as long as the policy. NULL: no memory, or bits_per_key not in 1 to 64. */
leveldb_filterpolicy_t *leveldb_filterpolicy_create_bloomfile(int bits_per_key,
                                                              struct policy_counts *counts);

/* What the policy is made of, for those who ask it without a database: the test and the
 * measurement. As in leveldb_filterpolicy_create(); the filter is malloc'ed, and NULL of size 0
 * without memory. */
struct policy *policy_new(int bits_per_key, struct policy_counts *counts);
char *policy_create_filter(void *policy, const char *const *keys, const size_t *sizes, int count,
                           size_t *filter_size);
uint8_t policy_key_may_match(void *policy, const char *key, size_t size, const char *filter,
                             size_t filter_size);
const char *policy_name(void *policy);

#endif
