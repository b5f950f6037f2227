/* SPDX-License-Identifier: MIT
 *
 * bloomfile through bloomfile.hpp. The file is compiled twice: for this machine's instructions,
 * which compiles lookups into the caller, and for all machines, with calls. The first program also
 * has lookups of bloomfile_inline.h.
 */
#include <bloomfile.hpp>
#include <bloomfile_inline.h>
#include <bloomfile_unstable.h>
#include <unistd.h>

#include <cmath>

#include "peers/class.h"

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

        bloomfile::bytes operator*() const
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

bloomfile::params params_of(uint64_t capacity, double bits_per_key)
{
    bloomfile::params params;
    params.layout = BLOOMFILE_LAYOUT_BLOCKED;
    params.capacity = capacity;
    params.bits = uint64_t(std::ceil(double(capacity) * bits_per_key / 512)) * 512;
    return params;
}

struct filter {
    static constexpr const char *name = "bloomfile blocked, C++" COMPILED_FOR;
    using digests = bloomfile::span<const bloomfile_digest>;

    bloomfile::builder<bloomfile::bytes> builder;
    bloomfile::filter<bloomfile::bytes> f;

    filter(uint64_t capacity, double bits_per_key) : builder(params_of(capacity, bits_per_key))
    {
    }

    void add(uint64_t digest)
    {
        builder.add_digests({ &digest, 1 });
    }

    void add(const keyset_key &key)
    {
        builder.add({ key.data, key.size });
    }

    void add_many(const uint64_t *all, size_t n)
    {
        builder.add_digests(digests(all, n));
    }

    void add_many(const keyset_key *all, size_t n)
    {
        builder.add_many(range{ all, n });
    }

    bool finish()
    {
        builder.write(PATH, bloomfile::write_flags::replace);
        f = bloomfile::filter<bloomfile::bytes>(PATH, bloomfile::open_flags::verify_full |
                                                          bloomfile::open_flags::prefault);
        return unlink(PATH) == 0;
    }

    bool has(uint64_t digest) const
    {
        return f.contains_digest(digest);
    }

    bool has(const keyset_key &key) const
    {
        return f.contains({ key.data, key.size });
    }

    size_t has_many(const uint64_t *all, size_t n) const
    {
        bool hits[KEYSET_BATCH];
        return f.contains_digests(digests(all, n), hits);
    }

    size_t has_many(const keyset_key *all, size_t n) const
    {
        bool hits[KEYSET_BATCH];
        return f.contains_many(range{ all, n }, hits);
    }

    uint64_t bytes() const
    {
        size_t size;
        bloomfile_body(f.get(), &size);
        return size;
    }
};

struct inlined {
    static constexpr const char *name = "bloomfile blocked, inlined";

    filter it;
    bloomfile_pinned pin = BLOOMFILE_PINNED_INIT;

    inlined(uint64_t capacity, double bits_per_key) : it(capacity, bits_per_key)
    {
    }

    void add(uint64_t digest)
    {
        it.add(digest);
    }

    void add_many(const uint64_t *all, size_t n)
    {
        it.add_many(all, n);
    }

    bool finish()
    {
        return it.finish() && bloomfile_pin(it.f.get(), &pin) == 0;
    }

    bool has(uint64_t digest) const
    {
        return bloomfile_pinned_contains_digest(&pin, digest);
    }

    size_t has_many(const uint64_t *all, size_t n) const
    {
        bool hits[KEYSET_BATCH];
        return bloomfile_pinned_contains_digests(&pin, all, n, hits);
    }

    uint64_t bytes() const
    {
        return it.bytes();
    }
};

} // namespace

const contender contenders[] = { contender_of<filter>(""), contender_of<inlined>("") };
const size_t contenders_count = sizeof COMPILED_FOR > 1 ? 1 : 2;
