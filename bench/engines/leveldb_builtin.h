/* SPDX-License-Identifier: MIT
 *
 * The policy that LevelDB brings along, in the form of policy.h. C++, for LevelDB's C interface can
 * make it but not ask it.
 */
#ifndef BLOOMFILE_BENCH_LEVELDB_BUILTIN_H
#define BLOOMFILE_BENCH_LEVELDB_BUILTIN_H

#include <stddef.h>
#include <stdint.h>

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
