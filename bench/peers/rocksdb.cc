/* SPDX-License-Identifier: MIT
 *
 * RocksDB: a blocked filter, FastLocalBloom (format_version 5). It has AVX2 code only if the
 * library was compiled for AVX2, and Debian's is not. If there is a library with AVX2, this file is
 * also built with that, and COMPILED_FOR is part of the name.
 */
#include <rocksdb/filter_policy.h>
#include <rocksdb/slice.h>
#include <rocksdb/status.h>
#include <rocksdb/table.h>
#include <rocksdb/version.h>

#include "peers/class.h"

/* The public header does not define these classes. Calls depend on the order of their virtual
 * functions, which is the same in 7.0 to 9.5. */
#if ROCKSDB_MAJOR < 7 || ROCKSDB_MAJOR * 100 + ROCKSDB_MINOR > 905
#error "this knows RocksDB 7.0 to 9.5 only"
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
constexpr size_t TRAILER = 5; /* bytes after the bits, with the kind of the filter */

#ifndef COMPILED_FOR
#define COMPILED_FOR ""
#endif

struct filter {
    static constexpr const char *name = "RocksDB" COMPILED_FOR;

    std::unique_ptr<const FilterPolicy> policy;
    std::unique_ptr<FilterBitsBuilder> builder;
    lines data;
    size_t size = 0;
    std::unique_ptr<FilterBitsReader> reader;

    filter(uint64_t capacity, double bits_per_key)
    {
        if (double(capacity) * bits_per_key / 8 > MOST_BYTES)
            throw "a filter has less than 4 GiB";
        if (bits_per_key < 1 || bits_per_key > 100)
            throw "a filter has 1 to 100 bits per key";
        policy.reset(NewBloomFilterPolicy(bits_per_key));
        const BlockBasedTableOptions options;
        builder.reset(policy->GetBuilderWithContext(FilterBuildingContext(options)));
    }

    void add(const keyset_key &key)
    {
        builder->AddKey(Slice(key.data, key.size));
    }

    /* Copies the filter to memory that is aligned to cache lines, which makes lookups faster. */
    bool finish()
    {
        std::unique_ptr<const char[]> made;
        const Slice contents = builder->Finish(&made);
        const char *end = contents.data() + contents.size();
        builder.reset();
        if (contents.size() <= TRAILER || *(end - TRAILER) != '\xff' || *(end - TRAILER + 1) != 0) {
            std::fputs("RocksDB: the filter is no FastLocalBloom\n", stderr);
            return false;
        }
        size = contents.size();
        data = lines_of(size);
        std::copy(contents.data(), end, data.get());
        reader.reset(policy->GetFilterBitsReader(Slice(data.get(), size)));
        return true;
    }

    bool has(const keyset_key &key) const
    {
        return reader->MayMatch(Slice(key.data, key.size));
    }

    size_t has_many(const keyset_key *keys, size_t count) const
    {
        Slice slices[BATCH], *pointers[BATCH];
        bool found[BATCH];
        size_t hits = 0;
        for (size_t i = 0; i < BATCH; i++)
            pointers[i] = &slices[i];
        for (size_t first = 0, n; first < count; first += n) {
            n = std::min(BATCH, count - first);
            for (size_t i = 0; i < n; i++)
                slices[i] = Slice(keys[first + i].data, keys[first + i].size);
            reader->MayMatch(int(n), pointers, found);
            hits += size_t(std::count(found, found + n, true));
        }
        return hits;
    }

    uint64_t bytes() const
    {
        return size;
    }
};

#define TEXT(number)     #number
#define VERSION(a, b, c) TEXT(a) "." TEXT(b) "." TEXT(c)

} // namespace

const contender contenders[] = { contender_of<filter>(
    VERSION(ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH)) };
const size_t contenders_count = 1;
