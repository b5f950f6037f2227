/* SPDX-License-Identifier: MIT
 *
 * LevelDB: a classic filter of positions from a 32-bit hash, made of all keys at once.
 */
#include <leveldb/db.h>
#include <leveldb/filter_policy.h>
#include <leveldb/slice.h>

#include <algorithm>
#include <climits>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <string>
#include <vector>

#include "peers/contender.h"

namespace
{

using leveldb::Slice;

constexpr double MOST_BITS = 4294967296.0; /* positions have 32 bits */
constexpr uint64_t MOST_KEYS = 1 << 27;    /* 2 GiB of slices */
constexpr size_t MOST_BYTES = 1 << 30;     /* of keys that wait */

struct filter {
    std::unique_ptr<const leveldb::FilterPolicy> policy;
    size_t capacity;
    std::string text; /* of the keys that wait; never moves */
    std::vector<Slice> waiting;
    std::string bits;
};

[[noreturn]] void out_of_memory()
{
    std::fputs("LevelDB: no memory for the keys of a filter; ask for fewer\n", stderr);
    std::exit(2);
}

bool possible(uint64_t capacity, double bits_per_key)
{
    if (capacity > MOST_KEYS)
        std::fprintf(stderr, "LevelDB: needs all keys in memory at once: more than 2 GiB\n");
    else if (double(capacity) * std::round(bits_per_key) > MOST_BITS)
        std::fprintf(stderr, "LevelDB: a filter has at most 2^32 bits\n");
    else if (capacity == 0 || bits_per_key < 0.5)
        std::fprintf(stderr, "LevelDB: a filter has one key and one bit per key at least\n");
    else
        return true;
    return false;
}

size_t longest_key(key_form form)
{
    switch (form) {
    case KEYS_HASHED:
        return 8;
    case KEYS_16_BYTES:
        return 16;
    case KEYS_60_BYTES:
        return 60;
    case KEYS_MIXED:
        break;
    }
    return 80;
}

void *create(unsigned, uint64_t capacity, double bits_per_key, key_form form)
{
    std::set_new_handler(out_of_memory);
    if (!possible(capacity, bits_per_key))
        return nullptr;
    auto f = new filter;
    f->policy.reset(leveldb::NewBloomFilterPolicy(int(std::lround(bits_per_key))));
    f->capacity = capacity;
    f->text.reserve(std::min(capacity * longest_key(form), MOST_BYTES));
    f->waiting.reserve(capacity);
    return f;
}

/* Makes a filter as large as that of all keys, of those that wait, and joins it to what there is.
 * One of the keys takes the places of those that are elsewhere: it sets no bit that is not set. */
void build_part(filter &f)
{
    std::string part;
    f.waiting.resize(f.capacity, f.waiting.front());
    f.policy->CreateFilter(f.waiting.data(), int(f.capacity), &part);
    if (f.bits.empty())
        f.bits.swap(part);
    else
        std::transform(part.begin(), part.end() - 1, f.bits.begin(), f.bits.begin(),
                       [](char a, char b) { return char(a | b); });
    f.waiting.clear();
    f.text.clear();
}

void add(filter &f, const keyset_key &key)
{
    if (f.waiting.size() == f.capacity || f.text.size() + key.size > f.text.capacity()) {
        if (f.bits.empty())
            std::fputs("LevelDB: the keys take over 1 GiB: built in parts, which takes longer\n",
                       stderr);
        build_part(f);
    }
    const size_t place = f.text.size();
    f.text.append(key.data, key.size);
    f.waiting.emplace_back(f.text.data() + place, key.size);
}

void add_one(void *handle, const keyset *keys)
{
    filter &f = *static_cast<filter *>(handle);
    for (size_t i = 0; i < keys->count; i++)
        add(f, keys->keys[i]);
}

bool finish(void *handle)
{
    filter &f = *static_cast<filter *>(handle);
    if (!f.waiting.empty())
        build_part(f);
    f.text = std::string();
    f.waiting = std::vector<Slice>();
    return true;
}

size_t lookup_one(const void *handle, const keyset *keys)
{
    const filter &f = *static_cast<const filter *>(handle);
    const Slice bits(f.bits);
    size_t hits = 0;
    for (size_t i = 0; i < keys->count; i++)
        hits += f.policy->KeyMayMatch(Slice(keys->keys[i].data, keys->keys[i].size), bits);
    return hits;
}

uint64_t bytes(const void *handle)
{
    return static_cast<const filter *>(handle)->bits.size();
}

void destroy(void *handle)
{
    delete static_cast<filter *>(handle);
}

const std::string version =
    std::to_string(leveldb::kMajorVersion) + "." + std::to_string(leveldb::kMinorVersion);

} // namespace

const contender contenders[] = { { "LevelDB", version.c_str(), 0, create, add_one, nullptr, finish,
                                   lookup_one, nullptr, nullptr, bytes, destroy } };
const size_t contenders_count = 1;
