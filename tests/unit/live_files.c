/* SPDX-License-Identifier: MIT
 * Short forms for tests of live filters. */
#include "live_files.h"

#include <bloomfile_live.h>

#include "support.h"

struct bloomfile_params sized(uint64_t capacity)
{
    struct bloomfile_params params = BLOOMFILE_PARAMS_INIT;
    params.capacity = capacity;
    params.fpr = 1e-9;
    return params;
}

bloomfile_filter *create(const char *path, uint64_t capacity)
{
    bloomfile_filter *f;
    struct bloomfile_params params = sized(capacity);
    assert_error(bloomfile_create(&f, path, &params, 0), 0);
    return f;
}

bloomfile_filter *open_for(const char *path, unsigned flags)
{
    bloomfile_filter *f;
    assert_error(bloomfile_open(&f, path, flags), 0);
    return f;
}

void assert_not_opened(const char *path, unsigned flags, int error)
{
    bloomfile_filter *f = (void *)&f;
    assert_error(bloomfile_open(&f, path, flags), error);
    assert_null(f);
}

void add(bloomfile_filter *f, uint64_t from, uint64_t to)
{
    for (uint64_t i = from; i < to; i++) {
        bool was_new = false;
        assert_error(bloomfile_add_digest(f, number(0, i), &was_new), 0);
        assert_true(was_new);
    }
}

void assert_has(const bloomfile_filter *f, uint64_t to)
{
    for (uint64_t i = 0; i < to; i++)
        assert_true(bloomfile_contains_digest(f, number(0, i)));
    assert_false(bloomfile_contains_digest(f, number(0, 1u << 30)));
}
