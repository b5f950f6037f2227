/* SPDX-License-Identifier: MIT
 * A handle without a known hash gets a kernel that says "maybe". */
#include "handle/app_hash.h"

#include <bloomfile_hash.h>

#include "kernel/dispatch.h"

bool app_hash_missed(const bloomfile *f)
{
    atomic_store(&f->guard->unhashed, true);
    return true;
}

/* The view that lookups pass to their kernel is the first member of its handle. */
static const bloomfile *handle_of(const struct kernel_view *view)
{
    _Static_assert(offsetof(struct bloomfile, view) == 0, "the view is a handle's first member");
    return (const void *)view;
}

static bool contains(const struct kernel_view *view, uint64_t digest)
{
    (void)digest;
    return app_hash_missed(handle_of(view));
}

static size_t contains_many(const struct kernel_view *view, const uint64_t *digests, size_t n,
                            bool *hits)
{
    (void)digests;
    if (n > 0)
        app_hash_missed(handle_of(view));
    for (size_t i = 0; hits != NULL && i < n; i++)
        hits[i] = true;
    return n;
}

static void expect(const struct kernel_view *view, const uint64_t *digests, size_t n)
{
    (void)view;
    (void)digests;
    (void)n;
}

/* The lookups of a handle whose hash is unnamed. A kernel of its own spares all other handles the
 * question. */
static const struct kernel unnamed = {
    .name = "none", .contains = contains, .contains_many = contains_many, .expect = expect
};

void app_hash_forget(bloomfile *f)
{
    f->unnamed = true;
    f->kernel = &unnamed;
}

int bloomfile_name_hash(bloomfile *f, uint32_t hash_id, uint64_t self_test)
{
    app_hash_forget(f); /* a caller that ignores the error must never get a "no" */
    if (hash_id != f->header.hash_id)
        return BLOOMFILE_EHASH;
    if (self_test != f->header.self_test)
        return BLOOMFILE_ESELFTEST;
    f->unnamed = false;
    f->kernel = kernel_for(f->header.layout);
    atomic_store(&f->guard->unhashed, false);
    return 0;
}
