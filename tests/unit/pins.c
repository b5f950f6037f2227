/* SPDX-License-Identifier: MIT
 * Lookups through pins (bloomfile_inline.h) in place of the library's functions. They are linked
 * with --wrap, so the objects of a test need not be compiled again. Their results must not
 * differ. */
#define bloomfile_contains         __real_bloomfile_contains
#define bloomfile_contains_digest  __real_bloomfile_contains_digest
#define bloomfile_contains_digests __real_bloomfile_contains_digests

#include <bloomfile_inline.h>
#include <bloomfile_inspect.h>
#include <stdlib.h>

bool __wrap_bloomfile_contains(const bloomfile_filter *f, const void *key, size_t size);
bool __wrap_bloomfile_contains_digest(const bloomfile_filter *f, bloomfile_digest digest);
size_t __wrap_bloomfile_contains_digests(const bloomfile_filter *f, const bloomfile_digest *digests,
                                         size_t n, bool *hits);

static struct bloomfile_pinned pinned(const bloomfile_filter *f)
{
    struct bloomfile_pinned pin = BLOOMFILE_PINNED_INIT;
    if (bloomfile_pin(f, &pin) != 0)
        abort();
    return pin;
}

bool __wrap_bloomfile_contains_digest(const bloomfile_filter *f, bloomfile_digest digest)
{
    const struct bloomfile_pinned pin = pinned(f);
    return bloomfile_pinned_contains_digest(&pin, digest);
}

size_t __wrap_bloomfile_contains_digests(const bloomfile_filter *f, const bloomfile_digest *digests,
                                         size_t n, bool *hits)
{
    const struct bloomfile_pinned pin = pinned(f);
    size_t found = 0;
    for (size_t start = 0; start < n; start += 64)
        found += bloomfile_pinned_contains_digests(&pin, digests + start,
                                                   n - start < 64 ? n - start : 64,
                                                   hits != NULL ? hits + start : NULL);
    return found;
}

/* A pin takes only digests, so keys of a filter with an application's hash go to the library. */
bool __wrap_bloomfile_contains(const bloomfile_filter *f, const void *key, size_t size)
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    if (bloomfile_get_info(f, &info) != 0)
        abort();
    return info.hash_id != 1
               ? bloomfile_contains(f, key, size)
               : __wrap_bloomfile_contains_digest(f, bloomfile_digest_of(f, key, size));
}
