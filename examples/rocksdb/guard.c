/* SPDX-License-Identifier: MIT
 * A filter in front of a column family: the part to copy. */
#include "guard.h"

#include <bloomfile_open.h>
#include <stdbool.h>
#include <string.h>

/* A sound filter may belong to other rows; its tag shows that. A live filter may lack keys. */
bloomfile_filter *guard_open(const char *path, const uint8_t set[BLOOMFILE_TAG_SIZE],
                             const char **why)
{
    bloomfile_filter *filter;
    const struct bloomfile_source from = bloomfile_from_path(path);
    struct bloomfile_open_params how = BLOOMFILE_OPEN_PARAMS_INIT;
    how.expect = BLOOMFILE_EXPECT_TAG | BLOOMFILE_EXPECT_SEALED | BLOOMFILE_EXPECT_HASH;
    memcpy(how.tag, set, sizeof how.tag);
    how.hash_id = BLOOMFILE_HASH_XXH3;
    const int error = bloomfile_open_with(&filter, &from, &how);
    *why = error == BLOOMFILE_EDIFFERENTTAG ? "it was made for another set of rows"
           : error != 0                     ? bloomfile_strerror(error)
                                            : NULL;
    return filter;
}

rocksdb_pinnableslice_t *guard_get(const struct guard *g, const void *key, size_t size,
                                   char **error)
{
    if (g->filter != NULL && !bloomfile_contains(g->filter, key, size))
        return NULL;
    return rocksdb_get_pinned_cf(g->db, g->options, g->rows, key, size, error);
}

void guard_get_many(const struct guard *g, const struct bloomfile_key *keys, size_t count,
                    rocksdb_pinnableslice_t **values, char **errors)
{
    bool hits[GUARD_BATCH];
    const char *asked[GUARD_BATCH];
    size_t sizes[GUARD_BATCH], place[GUARD_BATCH], n = 0;
    rocksdb_pinnableslice_t *found[GUARD_BATCH];
    char *failed[GUARD_BATCH];

    if (g->filter != NULL)
        bloomfile_contains_many(g->filter, keys, count, hits);
    for (size_t i = 0; i < count; i++) {
        values[i] = NULL;
        errors[i] = NULL;
        if (g->filter != NULL && !hits[i])
            continue;
        asked[n] = keys[i].data;
        sizes[n] = keys[i].size;
        place[n++] = i;
    }
    if (n == 0)
        return;
    rocksdb_batched_multi_get_cf(g->db, g->options, g->rows, n, asked, sizes, found, failed, false);
    for (size_t i = 0; i < n; i++) {
        values[place[i]] = found[i];
        errors[place[i]] = failed[i];
    }
}

int guard_confirm(const struct guard *g)
{
    return g->filter != NULL ? bloomfile_recheck(g->filter) : 0;
}
