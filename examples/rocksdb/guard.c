/* SPDX-License-Identifier: MIT
 * A filter in front of a column family: the part to copy. */
#include "guard.h"

#include <bloomfile_inspect.h>
#include <stdbool.h>
#include <string.h>

/* The library refuses what is damaged. That a sound filter is of these rows only its tag tells, and
 * a live one may still lack keys. */
static const char *unfit(const bloomfile_filter *filter, const uint8_t set[BLOOMFILE_TAG_SIZE])
{
    struct bloomfile_info info = BLOOMFILE_INFO_INIT;
    bloomfile_get_info(filter, &info);
    if (info.state != BLOOMFILE_STATE_SEALED)
        return "it is live, not sealed";
    if (memcmp(info.tag, set, BLOOMFILE_TAG_SIZE) != 0)
        return "it was made for another set of rows";
    return NULL;
}

bloomfile_filter *guard_open(const char *path, const uint8_t set[BLOOMFILE_TAG_SIZE],
                             const char **why)
{
    bloomfile_filter *filter;
    const int error = bloomfile_open(&filter, path, 0);
    *why = error != 0 ? bloomfile_strerror(error) : unfit(filter, set);
    if (*why == NULL)
        return filter;
    bloomfile_close(filter);
    return NULL;
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
