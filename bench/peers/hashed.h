/* SPDX-License-Identifier: MIT
 *
 * A contender of a class that takes digests: what headers alone give, compiled into the loops for
 * this machine's instructions. Strings are hashed as ours are.
 *
 * The class has a constructor (capacity, bits_per_key), which throws a text if it cannot, add(),
 * has() and bytes(); it may have add_many(), has_many() (how many of them), and finish().
 */
#ifndef BLOOMFILE_BENCH_HASHED_H
#define BLOOMFILE_BENCH_HASHED_H

#include <bloomfile.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>

#include "peers/contender.h"

namespace
{

/* Zeroed bytes that begin with a cache line, each page mapped. */
struct lines_free {
    void operator()(char *data) const
    {
        std::free(data);
    }
};
using lines = std::unique_ptr<char, lines_free>;

[[maybe_unused]] lines lines_of(size_t size)
{
    size = (size + 63) / 64 * 64;
    lines memory(static_cast<char *>(std::aligned_alloc(64, size)));
    if (memory == nullptr)
        throw "no memory for the filter; ask for fewer keys";
    std::fill_n(memory.get(), size, '\0');
    return memory;
}

inline uint64_t hash_of(const keyset_key &key)
{
    return bloomfile_hash(0, key.data, key.size);
}

template <class F> struct hashed {
    static void *create(unsigned, uint64_t capacity, double bits_per_key, key_form)
    try {
        return new F(capacity, bits_per_key);
    } catch (const char *why) {
        std::fprintf(stderr, "%s: %s\n", F::name, why);
        return nullptr;
    }

    static void add_one(void *filter, const keyset *keys)
    {
        F &f = *static_cast<F *>(filter);
        const keyset all = *keys;
        for (size_t i = 0; i < all.count; i++)
            f.add(all.digests != nullptr ? all.digests[i] : hash_of(all.keys[i]));
    }

    template <bool acting> static size_t look_up(const void *filter, const keyset *keys)
    {
        const F &f = *static_cast<const F *>(filter);
        const keyset all = *keys;
        size_t found = 0;
        if (all.digests != nullptr)
            for (size_t i = 0; i < all.count; i++)
                found = keyset_count(found, f.has(all.digests[i]), acting);
        else
            for (size_t i = 0; i < all.count; i++)
                found = keyset_count(found, f.has(hash_of(all.keys[i])), acting);
        return found;
    }

    /* Hands on the digests of a batch at a time. */
    template <class Do> static void batches(const keyset *keys, Do what)
    {
        uint64_t digests[KEYSET_BATCH];
        for (size_t first = 0, n; first < keys->count; first += n) {
            n = std::min(keys->batch, keys->count - first);
            if (keys->digests == nullptr)
                std::transform(keys->keys + first, keys->keys + first + n, digests, hash_of);
            what(keys->digests != nullptr ? keys->digests + first : digests, n);
        }
    }
};

template <class F> contender contender_of(const char *version)
{
    using its = hashed<F>;
    contender c = {};
    c.name = F::name;
    c.version = version;
    c.create = its::create;
    c.add_one = its::add_one;
    if constexpr (requires { &F::add_many; })
        c.add_batch = [](void *filter, const keyset *keys) {
            its::batches(keys, [&](const uint64_t *digests, size_t n) {
                static_cast<F *>(filter)->add_many(digests, n);
            });
        };
    if constexpr (requires { &F::finish; })
        c.finish = [](void *filter) { return static_cast<F *>(filter)->finish(); };
    c.lookup_one = its::template look_up<false>;
    c.lookup_acting = its::template look_up<true>;
    if constexpr (requires { &F::has_many; })
        c.lookup_batch = [](const void *filter, const keyset *keys) {
            size_t found = 0;
            its::batches(keys, [&](const uint64_t *digests, size_t n) {
                found += static_cast<const F *>(filter)->has_many(digests, n);
            });
            return found;
        };
    c.bytes = [](const void *filter) { return uint64_t(static_cast<const F *>(filter)->bytes()); };
    c.destroy = [](void *filter) { delete static_cast<F *>(filter); };
    return c;
}

} // namespace

#endif
