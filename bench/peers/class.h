/* SPDX-License-Identifier: MIT
 *
 * A contender from a C++ class, which takes digests, keys as bytes, or both. If it takes only
 * digests, bytes are hashed by bloomfile's hash.
 *
 * The class has add(), has(), bytes() and a constructor (capacity, bits_per_key[, form]), which
 * throws a text on an error. It may have add_many(), has_many(), which returns the number of hits,
 * and finish().
 */
#ifndef BLOOMFILE_BENCH_CLASS_H
#define BLOOMFILE_BENCH_CLASS_H

#include <bloomfile.h>

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <memory>
#include <new>
#include <type_traits>

#include "peers/contender.h"

namespace
{

/* Zeroed memory, aligned to a cache line, with every page mapped. */
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

[[maybe_unused]] inline uint64_t hash_of(const keyset_key &key)
{
    return bloomfile_hash(0, key.data, key.size);
}

/* The calls of a class: with digests if it takes them and the keys are digests, otherwise with
 * bytes or their hashes. */
template <class F> struct its {
    static constexpr bool takes_digests = requires(F f, uint64_t key)
    {
        f.add(key);
    };
    static constexpr bool takes_bytes = requires(F f, keyset_key key)
    {
        f.add(key);
    };
    static constexpr bool adds_many = requires(F f, const uint64_t *key)
    {
        f.add_many(key, 1);
    }
    || requires(F f, const keyset_key *key)
    {
        f.add_many(key, 1);
    };
    static constexpr bool has_many = requires(F f, const uint64_t *key)
    {
        f.has_many(key, 1);
    }
    || requires(F f, const keyset_key *key)
    {
        f.has_many(key, 1);
    };

    static void *create(unsigned, uint64_t capacity, double bits_per_key, key_form form)
    try {
        if constexpr (std::is_constructible_v<F, uint64_t, double, key_form>)
            return new F(capacity, bits_per_key, form);
        else
            return new F(capacity, bits_per_key);
    } catch (const char *why) {
        std::fprintf(stderr, "%s: %s\n", F::name, why);
        return nullptr;
    } catch (const std::bad_alloc &) {
        std::fprintf(stderr, "%s: no memory for the filter; ask for fewer keys\n", F::name);
        return nullptr;
    }

    template <class Do> static inline void each(const keyset all, Do what)
    {
        if constexpr (takes_digests)
            if (all.digests != nullptr) {
                for (size_t i = 0; i < all.count; i++)
                    what(all.digests[i]);
                return;
            }
        for (size_t i = 0; i < all.count; i++)
            if constexpr (takes_bytes)
                what(all.keys[i]);
            else
                what(hash_of(all.keys[i]));
    }

    static void add_one(void *filter, const keyset *keys)
    {
        F &f = *static_cast<F *>(filter);
        each(
            *keys, [&](const auto &key) __attribute__((always_inline)) { f.add(key); });
    }

    template <bool acting> static size_t look_up(const void *filter, const keyset *keys)
    {
        const F &f = *static_cast<const F *>(filter);
        size_t found = 0;
        each(
            *keys, [&](const auto &key) __attribute__((always_inline)) {
                found = keyset_count(found, f.has(key), acting);
            });
        return found;
    }

    /* Calls `what` for one batch after the other. */
    template <class Do> static void batches(const keyset *keys, Do what)
    {
        for (size_t first = 0, n; first < keys->count; first += n) {
            n = std::min(keys->batch, keys->count - first);
            if constexpr (takes_digests)
                if (keys->digests != nullptr) {
                    what(keys->digests + first, n);
                    continue;
                }
            if constexpr (takes_bytes) {
                what(keys->keys + first, n);
            } else {
                uint64_t digests[KEYSET_BATCH];
                std::transform(keys->keys + first, keys->keys + first + n, digests, hash_of);
                what(digests, n);
            }
        }
    }
};

template <class F> contender contender_of(const char *version)
{
    contender c = {};
    c.name = F::name;
    c.version = version;
    c.create = its<F>::create;
    c.add_one = its<F>::add_one;
    if constexpr (its<F>::adds_many)
        c.add_batch = [](void *filter, const keyset *keys) {
            its<F>::batches(keys, [&](const auto *some, size_t n) {
                static_cast<F *>(filter)->add_many(some, n);
            });
        };
    if constexpr (requires { &F::finish; })
        c.finish = [](void *filter) { return static_cast<F *>(filter)->finish(); };
    c.lookup_one = its<F>::template look_up<false>;
    c.lookup_acting = its<F>::template look_up<true>;
    if constexpr (its<F>::has_many)
        c.lookup_batch = [](const void *filter, const keyset *keys) {
            size_t found = 0;
            its<F>::batches(keys, [&](const auto *some, size_t n) {
                found += static_cast<const F *>(filter)->has_many(some, n);
            });
            return found;
        };
    c.bytes = [](const void *filter) { return uint64_t(static_cast<const F *>(filter)->bytes()); };
    c.destroy = [](void *filter) { delete static_cast<F *>(filter); };
    return c;
}

} // namespace

#endif
