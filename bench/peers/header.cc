/* SPDX-License-Identifier: MIT
 *
 * bloomfile through bloomfile.hpp: with its lookups compiled into the caller, where that is
 * compiled for this machine's instructions, and without.
 */
#include <bloomfile.hpp>
#include <bloomfile_combine.h>
#include <unistd.h>

#include <cmath>
#include <cstdio>

#include "peers/contender.h"

#define PATH "header.bloom"

#ifndef COMPILED_FOR
#define COMPILED_FOR ""
#endif

namespace
{

/* The keys of a set as a range, for batches. */
struct range {
    struct iterator {
        const keyset_key *at;

        bloom_file::bytes operator*() const
        {
            return { at->data, at->size };
        }
        iterator &operator++()
        {
            ++at;
            return *this;
        }
        bool operator!=(const iterator &other) const
        {
            return at != other.at;
        }
    };
    const keyset_key *first;
    size_t count;

    iterator begin() const
    {
        return { first };
    }
    iterator end() const
    {
        return { first + count };
    }
};

struct subject {
    bloom_file::builder<> builder;
    bloom_file::filter<> f;

    explicit subject(const bloom_file::params &params) : builder(params)
    {
    }
};

/* What bench-peers asks for cannot throw through serve.c. */
template <class Do> auto without_errors(Do what)
try {
    return what();
} catch (const bloom_file::error &trouble) {
    std::fprintf(stderr, "bloomfile: %s\n", trouble.what());
    std::exit(2);
}

subject &of(void *filter)
{
    return *static_cast<subject *>(filter);
}

const bloom_file::filter<> &asked(const void *filter)
{
    return static_cast<const subject *>(filter)->f;
}

void *create(unsigned, uint64_t capacity, double bits_per_key, key_form)
{
    return without_errors([&] {
        bloom_file::params params;
        params.layout = BLOOMFILE_BLOCKED;
        params.capacity = capacity;
        params.bits = uint64_t(std::ceil(double(capacity) * bits_per_key / 512)) * 512;
        return new subject(params);
    });
}

void add_one(void *filter, const keyset *keys)
{
    without_errors([&] {
        for (size_t i = 0; i < keys->count; i++)
            if (keys->digests != nullptr)
                of(filter).builder.add_digests({ keys->digests + i, 1 });
            else
                of(filter).builder.add({ keys->keys[i].data, keys->keys[i].size });
    });
}

/* Hands on a batch at a time. */
template <class Digests, class Keys> void batches(const keyset *keys, Digests digests, Keys others)
{
    for (size_t first = 0, n; first < keys->count; first += n) {
        n = std::min(keys->batch, keys->count - first);
        if (keys->digests != nullptr)
            digests(bloom_file::span<const bloomfile_digest>(keys->digests + first, n));
        else
            others(range{ keys->keys + first, n });
    }
}

void add_batch(void *filter, const keyset *keys)
{
    without_errors([&] {
        batches(
            keys, [&](auto all) { of(filter).builder.add_digests(all); },
            [&](auto all) { of(filter).builder.add_many(all); });
    });
}

bool finish(void *filter)
{
    return without_errors([&] {
        of(filter).builder.finish(PATH, BLOOMFILE_REPLACE);
        of(filter).f = bloom_file::filter(PATH, BLOOMFILE_VERIFY_FULL | BLOOMFILE_PREFAULT);
        unlink(PATH);
        return true;
    });
}

template <bool acting> size_t look_up(const void *filter, const keyset *keys)
{
    const bloom_file::filter<> &f = asked(filter);
    const keyset all = *keys;
    size_t found = 0;
    if (all.digests != nullptr)
        for (size_t i = 0; i < all.count; i++)
            found = keyset_count(found, f.contains_digest(all.digests[i]), acting);
    else
        for (size_t i = 0; i < all.count; i++)
            found = keyset_count(found, f.contains(all.keys[i].data, all.keys[i].size), acting);
    return found;
}

size_t look_up_batch(const void *filter, const keyset *keys)
{
    const bloom_file::filter<> &f = asked(filter);
    bool hits[KEYSET_BATCH];
    size_t found = 0;
    batches(
        keys, [&](auto all) { found += f.contains_digests(all, hits); },
        [&](auto all) { found += f.contains_many(all, hits); });
    return found;
}

uint64_t bytes(const void *filter)
{
    size_t size;
    bloomfile_body(asked(filter).get(), &size);
    return size;
}

void destroy(void *filter)
{
    delete static_cast<subject *>(filter);
}

} // namespace

const contender contenders[] = { {
    "bloomfile blocked, C++" COMPILED_FOR,
    "",
    0,
    create,
    add_one,
    add_batch,
    finish,
    look_up<false>,
    look_up<true>,
    look_up_batch,
    bytes,
    destroy,
} };
const size_t contenders_count = 1;
