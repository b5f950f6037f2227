/* SPDX-License-Identifier: MIT
 *
 * libfilter: a split block filter, with blocks of 256 bits and a bit in each of their 8 words. This
 * file allocates its memory, so that it has pages of the same size as the other contenders.
 */
#include <filter/block.h>

#include "peers/class.h"

namespace
{

struct filter {
    static constexpr const char *name = "libfilter";
    static constexpr size_t block = 32;

    lines memory;
    libfilter_block it = {};

    filter(uint64_t capacity, double bits_per_key)
    {
        it.num_buckets_ =
            std::max<uint64_t>(1, uint64_t(double(capacity) * bits_per_key / 8 / block));
        memory = lines_of(it.num_buckets_ * block);
        it.block_.block = reinterpret_cast<uint32_t *>(memory.get());
    }

    void add(uint64_t digest)
    {
        libfilter_block_add_hash(digest, &it);
    }

    bool has(uint64_t digest) const
    {
        return libfilter_block_find_hash(digest, &it);
    }

    uint64_t bytes() const
    {
        return it.num_buckets_ * block;
    }
};

} // namespace

const contender contenders[] = { contender_of<filter>("") };
const size_t contenders_count = 1;
