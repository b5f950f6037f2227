/* SPDX-License-Identifier: MIT */
#include "leveldb.h"

#include <leveldb/filter_policy.h>
#include <leveldb/slice.h>

#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

static const leveldb::FilterPolicy *known(void *policy)
{
    return static_cast<const leveldb::FilterPolicy *>(policy);
}

void *builtin_new(int bits_per_key)
{
    return const_cast<leveldb::FilterPolicy *>(leveldb::NewBloomFilterPolicy(bits_per_key));
}

void builtin_free(void *policy)
{
    delete known(policy);
}

/* Copies as much as every policy of leveldb_filterpolicy_create() must. */
char *builtin_create_filter(void *policy, const char *const *keys, const size_t *sizes, int count,
                            size_t *filter_size)
{
    std::vector<leveldb::Slice> slices;
    std::string filter;
    slices.reserve(size_t(count));
    for (int i = 0; i < count; i++)
        slices.emplace_back(keys[i], sizes[i]);
    known(policy)->CreateFilter(slices.data(), count, &filter);
    char *copy = static_cast<char *>(std::malloc(filter.size()));
    *filter_size = copy != nullptr ? filter.size() : 0;
    if (copy != nullptr)
        std::memcpy(copy, filter.data(), filter.size());
    return copy;
}

uint8_t builtin_key_may_match(void *policy, const char *key, size_t size, const char *filter,
                              size_t filter_size)
{
    return known(policy)->KeyMayMatch(leveldb::Slice(key, size),
                                      leveldb::Slice(filter, filter_size));
}

const char *builtin_name(void *policy)
{
    return known(policy)->Name();
}
