/* SPDX-License-Identifier: MIT
 *
 * Boost.Bloom: blocked filters with blocks of 256 and 512 bits, and a bit in each of their 8 words.
 */
#include <boost/bloom.hpp>

#include "peers/class.h"

namespace
{

struct as_it_is {
    using is_avalanching = void;

    size_t operator()(uint64_t digest) const
    {
        return digest;
    }
};

template <class Block, const char *Name> struct filter {
    static constexpr const char *name = Name;

    boost::bloom::filter<uint64_t, 1, Block, 0, as_it_is> it;

    filter(uint64_t capacity, double bits_per_key) : it(size_t(double(capacity) * bits_per_key))
    {
    }

    void add(uint64_t digest)
    {
        it.insert(digest);
    }

    void add_many(const uint64_t *digests, size_t n)
    {
        it.insert(digests, digests + n);
    }

    bool has(uint64_t digest) const
    {
        return it.may_contain(digest);
    }

    size_t has_many(const uint64_t *digests, size_t n) const
    {
        bool hits[KEYSET_BATCH], *next = hits;
        it.may_contain(digests, digests + n, [&](uint64_t, bool hit) { *next++ = hit; });
        return size_t(std::count(hits, hits + n, true));
    }

    uint64_t bytes() const
    {
        return it.capacity() / 8;
    }
};

constexpr char name_256[] = "Boost, 256 bits", name_512[] = "Boost, 512 bits";

} // namespace

const contender contenders[] = {
    contender_of<filter<boost::bloom::fast_multiblock32<8>, name_256>>(""),
    contender_of<filter<boost::bloom::fast_multiblock64<8>, name_512>>(""),
};
const size_t contenders_count = sizeof contenders / sizeof contenders[0];
