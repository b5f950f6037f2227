/* SPDX-License-Identifier: MIT
 *
 * RocksDB's two filters from the headers of its source, without the calls around them:
 * FastLocalBloom of tables, with AVX2, and DynamicBloom of memtables, for several threads.
 */
#include <memory/arena.h>
#include <rocksdb/version.h>
#include <util/bloom_impl.h>
#include <util/dynamic_bloom.h>

#include "peers/class.h"

namespace
{

using namespace ROCKSDB_NAMESPACE;

constexpr size_t group = MultiGetContext::MAX_BATCH_SIZE; /* the most keys of a batch */

struct fast_local {
    static constexpr const char *name = "RocksDB, inlined";
    static constexpr double most_bytes = 0xffffffc0;

    uint32_t size;
    int probes;
    lines memory;

    fast_local(uint64_t capacity, double bits_per_key)
    {
        const double wanted = double(capacity) * bits_per_key / 8;
        if (wanted > most_bytes)
            throw "a filter has less than 4 GiB";
        size = (uint32_t(wanted) + 63) / 64 * 64;
        probes = FastLocalBloomImpl::ChooseNumProbes(int(bits_per_key * 1000));
        memory = lines_of(size);
    }

    void add(uint64_t digest)
    {
        FastLocalBloomImpl::AddHash(Lower32of64(digest), Upper32of64(digest), size, probes,
                                    memory.get());
    }

    bool has(uint64_t digest) const
    {
        return FastLocalBloomImpl::HashMayMatch(Lower32of64(digest), Upper32of64(digest), size,
                                                probes, memory.get());
    }

    size_t has_many(const uint64_t *digests, size_t count) const
    {
        size_t found = 0;
        for (size_t first = 0, n; first < count; first += n) {
            uint32_t places[group];
            bool hits[group];
            n = std::min(group, count - first);
            for (size_t i = 0; i < n; i++)
                FastLocalBloomImpl::PrepareHash(Lower32of64(digests[first + i]), size, memory.get(),
                                                &places[i]);
            for (size_t i = 0; i < n; i++)
                hits[i] = FastLocalBloomImpl::HashMayMatchPrepared(
                    Upper32of64(digests[first + i]), probes, memory.get() + places[i]);
            found += size_t(std::count(hits, hits + n, true));
        }
        return found;
    }

    uint64_t bytes() const
    {
        return size;
    }
};

/* DynamicBloom has hashes of 32 bits: the lower half of a digest. A batch prefetches the lines of a
 * group first, by the filter's own function. */
struct dynamic {
    static constexpr const char *name = "RocksDB DynamicBloom";
    static constexpr uint32_t probes = 6; /* as in memtables */
    static constexpr double most_bits = 0xfffff000;

    Arena memory;
    uint64_t size;
    std::unique_ptr<DynamicBloom> it;

    dynamic(uint64_t capacity, double bits_per_key)
    {
        const double bits = double(capacity) * bits_per_key;
        if (bits > most_bits)
            throw "a filter has less than 2^32 bits";
        it = std::make_unique<DynamicBloom>(&memory, uint32_t(bits), probes);
        size = (uint64_t(bits) + 255) / 256 * 32;
    }

    void add(uint64_t digest)
    {
        it->AddHashConcurrently(Lower32of64(digest));
    }

    void add_many(const uint64_t *digests, size_t count)
    {
        for (size_t first = 0, n; first < count; first += n) {
            n = std::min(group, count - first);
            for (size_t i = 0; i < n; i++)
                it->Prefetch(Lower32of64(digests[first + i]));
            for (size_t i = 0; i < n; i++)
                add(digests[first + i]);
        }
    }

    bool has(uint64_t digest) const
    {
        return it->MayContainHash(Lower32of64(digest));
    }

    uint64_t bytes() const
    {
        return size;
    }
};

#define TEXT(number)     #number
#define VERSION(a, b, c) TEXT(a) "." TEXT(b) "." TEXT(c)

const char version[] = VERSION(ROCKSDB_MAJOR, ROCKSDB_MINOR, ROCKSDB_PATCH);

} // namespace

const contender contenders[] = { contender_of<fast_local>(version),
                                 contender_of<dynamic>(version) };
const size_t contenders_count = 2;
