/* SPDX-License-Identifier: MIT
 * A handle without a known hash is in doubt as a whole. */
#include "handle/app_hash.h"

#include <bloomfile_hash.h>

#include "handle/doubt.h"

bool app_hash_missed(const bloomfile *f)
{
    atomic_store(&f->guard->unhashed, true);
    return true;
}

size_t app_hash_missed_many(const bloomfile *f, size_t n, bool *hits)
{
    if (n > 0)
        app_hash_missed(f);
    return doubt_all_maybe(n, hits);
}

void app_hash_forget(bloomfile *f)
{
    if (!f->unnamed)
        guard_doubt(f->guard);
    f->unnamed = true;
}

int bloomfile_name_hash(bloomfile *f, uint32_t hash_id, uint64_t self_test)
{
    app_hash_forget(f); /* a caller that ignores the error must never get a "no" */
    if (hash_id != f->header.hash_id)
        return BLOOMFILE_EHASH;
    if (self_test != f->header.self_test)
        return BLOOMFILE_ESELFTEST;
    f->unnamed = false;
    guard_undoubt(f->guard);
    atomic_store(&f->guard->unhashed, false);
    return 0;
}
