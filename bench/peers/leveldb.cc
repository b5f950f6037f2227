/* SPDX-License-Identifier: MIT
 *
 * LevelDB: a classic filter with positions from a 32-bit hash, made from all keys in one call.
 */
#include <leveldb/db.h>
#include <leveldb/filter_policy.h>
#include <leveldb/slice.h>

#include <cmath>
#include <string>
#include <vector>

#include "peers/class.h"

namespace
{

using leveldb::Slice;

constexpr double MOST_BITS = 4294967296.0;      /* positions have 32 bits */
constexpr uint64_t MOST_KEYS = 1 << 27;         /* 2 GiB of slices */
constexpr size_t MOST_BYTES = 1 << 30;          /* bytes of keys that wait */
constexpr size_t longest[] = { 8, 16, 60, 80 }; /* the longest key of each form */

struct filter {
    static constexpr const char *name = "LevelDB";

    std::unique_ptr<const leveldb::FilterPolicy> policy;
    size_t capacity;
    std::string text; /* bytes of the keys that wait; it is never reallocated */
    std::vector<Slice> waiting;
    std::string bits;

    filter(uint64_t keys, double bits_per_key, key_form form) : capacity(keys)
    {
        if (capacity > MOST_KEYS)
            throw "needs all keys in memory at once: more than 2 GiB";
        if (double(capacity) * std::round(bits_per_key) > MOST_BITS)
            throw "a filter has at most 2^32 bits";
        if (capacity == 0 || bits_per_key < 0.5)
            throw "a filter has one key and one bit per key at least";
        policy.reset(leveldb::NewBloomFilterPolicy(int(std::lround(bits_per_key))));
        text.reserve(std::min(capacity * longest[form], MOST_BYTES));
        waiting.reserve(capacity);
    }

    /* Makes a filter from the waiting keys, as large as a filter of all keys, and ORs it into the
     * bits. The size depends on the number of keys, so a repeated key, which sets no new bit, fills
     * the places of all other keys. */
    void build_part()
    {
        std::string part;
        waiting.resize(capacity, waiting.front());
        policy->CreateFilter(waiting.data(), int(capacity), &part);
        if (bits.empty())
            bits.swap(part);
        else
            std::transform(part.begin(), part.end() - 1, bits.begin(), bits.begin(),
                           [](char a, char b) { return char(a | b); });
        waiting.clear();
        text.clear();
    }

    void add(const keyset_key &key)
    {
        if (waiting.size() == capacity || text.size() + key.size > text.capacity()) {
            if (bits.empty())
                std::fputs(
                    "LevelDB: the keys take over 1 GiB: built in parts, which takes longer\n",
                    stderr);
            build_part();
        }
        const size_t place = text.size();
        text.append(key.data, key.size);
        waiting.emplace_back(text.data() + place, key.size);
    }

    bool finish()
    {
        if (!waiting.empty())
            build_part();
        text = std::string();
        waiting = std::vector<Slice>();
        return true;
    }

    bool has(const keyset_key &key) const
    {
        return policy->KeyMayMatch(Slice(key.data, key.size), bits);
    }

    uint64_t bytes() const
    {
        return bits.size();
    }
};

const std::string version =
    std::to_string(leveldb::kMajorVersion) + "." + std::to_string(leveldb::kMinorVersion);

} // namespace

const contender contenders[] = { contender_of<filter>(version.c_str()) };
const size_t contenders_count = 1;
