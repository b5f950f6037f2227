/* SPDX-License-Identifier: MIT
 *
 * RocksDB: a blocked filter, FastLocalBloom (format_version 5), as the library was compiled. Its
 * AVX2 code is there only if it was compiled for such machines, which Debian does not do; so this
 * is built twice if there is such a library, with COMPILED_FOR in the second one's name.
 */
#include <rocksdb/filter_policy.h>
#include <rocksdb/slice.h>
#include <rocksdb/status.h>
#include <rocksdb/table.h>
#include <rocksdb/version.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>

#include "peers/contender.h"

/* The public header leaves these undefined. Calls depend on the order of the virtual functions,
 * which is this in 7.0 to 9.5. */
#if ROCKSDB_MAJOR < 7 || ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR > 905
#error "peer_rocksdb.cc knows RocksDB 7.0 to 9.5 only"
#endif

namespace ROCKSDB_NAMESPACE
{

class FilterBitsBuilder
{
  public:
    virtual ~FilterBitsBuilder() = 0;
    virtual void AddKey(const Slice &key) = 0;
    virtual size_t EstimateEntriesAdded() = 0;
    virtual Slice Finish(std::unique_ptr<const char[]> *data) = 0;
};

class FilterBitsReader
{
  public:
    virtual ~FilterBitsReader() = 0;
    virtual bool MayMatch(const Slice &key) = 0;
    virtual void MayMatch(int count, Slice **keys, bool *found) = 0;
};

} // namespace ROCKSDB_NAMESPACE

namespace
{

using namespace ROCKSDB_NAMESPACE;

constexpr double MOST_BYTES = 0xffffffc0;
constexpr size_t BATCH = 32;  /* the most keys of a call */
constexpr size_t TRAILER = 5; /* after the bits: marks what filter it is */
constexpr size_t LINE = 64;

struct free_aligned {
    void operator()(char *data) const
    {
        std::free(data);
    }
};

struct filter {
    std::unique_ptr<const FilterPolicy> policy;
    std::unique_ptr<FilterBitsBuilder> builder;
    std::unique_ptr<char, free_aligned> data;
    size_t size;
    std::unique_ptr<FilterBitsReader> reader;
};

[[noreturn]] void out_of_memory()
{
    std::fputs("RocksDB: no memory for a filter or its keys; ask for fewer keys\n", stderr);
    std::exit(2);
}

void *create(unsigned, uint64_t capacity, double bits_per_key, key_form)
{
    std::set_new_handler(out_of_memory);
    if (double(capacity) * bits_per_key / 8 > MOST_BYTES) {
        std::fputs("RocksDB: a filter has less than 4 GiB\n", stderr);
        return nullptr;
    }
    if (bits_per_key < 1 || bits_per_key > 100) {
        std::fputs("RocksDB: a filter has 1 to 100 bits per key\n", stderr);
        return nullptr;
    }
    auto f = std::make_unique<filter>();
    f->policy.reset(NewBloomFilterPolicy(bits_per_key));
    const BlockBasedTableOptions options;
    f->builder.reset(f->policy->GetBuilderWithContext(FilterBuildingContext(options)));
    return f.release();
}

void add_one(void *handle, const keyset *keys)
{
    FilterBitsBuilder &builder = *static_cast<filter *>(handle)->builder;
    for (size_t i = 0; i < keys->count; i++)
        builder.AddKey(Slice(keys->keys[i].data, keys->keys[i].size));
}

bool is_fast_local_bloom(const Slice &contents)
{
    const char trailer[] = { '\xff', 0 };
    return contents.size() > TRAILER &&
           std::equal(trailer, trailer + 2, contents.data() + contents.size() - TRAILER);
}

/* The library's own memory is not aligned to cache lines: a copy that is makes lookups faster. */
bool align(filter &f, const Slice &contents)
{
    f.size = contents.size();
    f.data.reset(static_cast<char *>(std::aligned_alloc(LINE, (f.size + LINE - 1) / LINE * LINE)));
    if (!f.data)
        return false;
    std::copy_n(contents.data(), f.size, f.data.get());
    return true;
}

bool finish(void *handle)
{
    filter &f = *static_cast<filter *>(handle);
    std::unique_ptr<const char[]> data;
    const Slice contents = f.builder->Finish(&data);
    f.builder.reset();
    if (!is_fast_local_bloom(contents)) {
        std::fputs("RocksDB: the filter is no FastLocalBloom\n", stderr);
        return false;
    }
    if (!align(f, contents))
        out_of_memory();
    f.reader.reset(f.policy->GetFilterBitsReader(Slice(f.data.get(), f.size)));
    return true;
}

template <bool acting> size_t lookup(const void *handle, const keyset *keys)
{
    FilterBitsReader &reader = *static_cast<const filter *>(handle)->reader;
    size_t hits = 0;
    for (size_t i = 0; i < keys->count; i++) {
        const keyset_key &key = keys->keys[i];
        hits = keyset_count(hits, reader.MayMatch(Slice(key.data, key.size)), acting);
    }
    return hits;
}

size_t lookup_batch(const void *handle, const keyset *keys)
{
    FilterBitsReader &reader = *static_cast<const filter *>(handle)->reader;
    Slice slices[BATCH], *pointers[BATCH];
    bool found[BATCH];
    size_t hits = 0;
    for (size_t i = 0; i < BATCH; i++)
        pointers[i] = &slices[i];
    const size_t most = std::min(BATCH, keys->batch);
    for (size_t first = 0; first < keys->count; first += most) {
        const size_t count = std::min(most, keys->count - first);
        for (size_t i = 0; i < count; i++)
            slices[i] = Slice(keys->keys[first + i].data, keys->keys[first + i].size);
        reader.MayMatch(int(count), pointers, found);
        hits += size_t(std::count(found, found + count, true));
    }
    return hits;
}

uint64_t bytes(const void *handle)
{
    return static_cast<const filter *>(handle)->size;
}

void destroy(void *handle)
{
    delete static_cast<filter *>(handle);
}

#ifndef COMPILED_FOR
#define COMPILED_FOR ""
#endif
#define TEXT(number)     #number
#define VERSION(a, b, c) TEXT(a) "." TEXT(b) "." TEXT(c)

} // namespace

const contender contenders[] = {
    { "RocksDB" COMPILED_FOR, VERSION(ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH), 0, create,
      add_one, nullptr, finish, lookup<false>, lookup<true>, lookup_batch, bytes, destroy }
};
const size_t contenders_count = 1;
