/* SPDX-License-Identifier: MIT
 *
 * Binary fuse filters of xor_singleheader, with fingerprints of 8 bits, or of 16 if there is room.
 * They are built from all keys and cannot be changed.
 */
#include <binaryfusefilter.h>

#include <vector>

#include "peers/class.h"

namespace
{

struct filter {
    static constexpr const char *name = "binary fuse";
    static constexpr double needs_8 = 9, needs_16 = 18; /* bits a key */

    bool wide;
    std::vector<uint64_t> keys;
    binary_fuse8_t narrow_one = {};
    binary_fuse16_t wide_one = {};

    filter(uint64_t capacity, double bits_per_key) : wide(bits_per_key >= needs_16)
    {
        if (bits_per_key < needs_8)
            throw "takes 9 bits a key, or 18";
        if (capacity > UINT32_MAX)
            throw "takes less than 2^32 keys";
        keys.reserve(capacity);
    }

    ~filter()
    {
        binary_fuse8_free(&narrow_one);
        binary_fuse16_free(&wide_one);
    }

    void add(uint64_t digest)
    {
        keys.push_back(digest);
    }

    bool finish()
    {
        const auto count = uint32_t(keys.size());
        const bool made = wide ? binary_fuse16_allocate(count, &wide_one) &&
                                     binary_fuse16_populate(keys.data(), count, &wide_one)
                               : binary_fuse8_allocate(count, &narrow_one) &&
                                     binary_fuse8_populate(keys.data(), count, &narrow_one);
        keys = {};
        return made;
    }

    bool has(uint64_t digest) const
    {
        return wide ? binary_fuse16_contain(digest, &wide_one)
                    : binary_fuse8_contain(digest, &narrow_one);
    }

    uint64_t bytes() const
    {
        return wide ? binary_fuse16_size_in_bytes(&wide_one)
                    : binary_fuse8_size_in_bytes(&narrow_one);
    }
};

} // namespace

const contender contenders[] = { contender_of<filter>("") };
const size_t contenders_count = 1;
