/* SPDX-License-Identifier: MIT
 *
 * bloomfile with its lookups compiled into the caller (bloomfile_inline.h), for this machine's
 * instructions: a sealed file, mapped and verified.
 */
#include <bloomfile_combine.h>
#include <bloomfile_inline.h>
#include <bloomfile_inspect.h>
#include <unistd.h>

#include <cmath>

#include "peers/class.h"

#define PATH "inlined.bloom"

namespace
{

void check(int error, const char *what)
{
    if (error == 0)
        return;
    std::fprintf(stderr, "bloomfile: cannot %s: %s\n", what, bloomfile_strerror(error));
    std::exit(2);
}

struct filter {
    static constexpr const char *name = "bloomfile blocked, inlined";

    bloomfile_builder *builder = nullptr;
    bloomfile *f = nullptr;
    bloomfile_pinned pin = BLOOMFILE_PINNED_INIT;

    filter(uint64_t capacity, double bits_per_key)
    {
        bloomfile_params params = BLOOMFILE_PARAMS_INIT;
        params.layout = BLOOMFILE_BLOCKED;
        params.capacity = capacity;
        params.bits = uint64_t(std::ceil(double(capacity) * bits_per_key / 512)) * 512;
        check(bloomfile_builder_new(&builder, &params), "start a filter");
    }

    ~filter()
    {
        bloomfile_builder_free(builder);
        bloomfile_close(f);
    }

    void add(uint64_t digest)
    {
        add_many(&digest, 1);
    }

    void add_many(const uint64_t *digests, size_t n)
    {
        check(bloomfile_builder_add_digests(builder, digests, n), "add keys");
    }

    bool finish()
    {
        check(bloomfile_builder_finish(builder, PATH, BLOOMFILE_REPLACE), "build a filter");
        check(bloomfile_open(&f, PATH, BLOOMFILE_VERIFY_FULL | BLOOMFILE_PREFAULT),
              "open a filter");
        unlink(PATH);
        check(bloomfile_pin(f, &pin), "pin a filter");
        return true;
    }

    bool has(uint64_t digest) const
    {
        return bloomfile_pinned_contains_digest(&pin, digest);
    }

    size_t has_many(const uint64_t *digests, size_t n) const
    {
        bool hits[KEYSET_BATCH];
        return bloomfile_pinned_contains_digests(&pin, digests, n, hits);
    }

    uint64_t bytes() const
    {
        size_t size;
        bloomfile_body(f, &size);
        return size;
    }
};

} // namespace

const contender contenders[] = { contender_of<filter>("") };
const size_t contenders_count = 1;
