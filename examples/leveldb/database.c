/* SPDX-License-Identifier: MIT
 *
 * A LevelDB database with a filter policy, and every error checked. */
#include "database.h"

#include <err.h>
#include <unistd.h>

/* If the database does not exist, LevelDB would leave a directory with a lock and a log. */
static void must_exist(const char *path)
{
    char current[4096];
    if (snprintf(current, sizeof current, "%s/CURRENT", path) >= (int)sizeof current)
        errx(2, "cannot open %s: the name is too long", path);
    if (access(current, F_OK) == -1)
        err(2, "cannot open %s as a database", path);
}

/* Filters have checksums of their own. But only paranoid_checks verifies the table that assigns
 * them to data blocks. */
static leveldb_options_t *options_for(const struct database *d, bool create)
{
    leveldb_options_t *options = leveldb_options_create();
    leveldb_options_set_create_if_missing(options, create);
    leveldb_options_set_paranoid_checks(options, true);
    leveldb_options_set_cache(options, d->cache);
    leveldb_options_set_filter_policy(options, d->policy);
    return options;
}

struct database database_open(const char *path, bool create, leveldb_filterpolicy_t *policy,
                              size_t cache)
{
    struct database d = { .path = path, .policy = policy };
    char *message = NULL;
    if (!create)
        must_exist(path);
    d.cache = leveldb_cache_create_lru(cache);
    d.options = options_for(&d, create);
    d.reading = leveldb_readoptions_create();
    leveldb_readoptions_set_verify_checksums(d.reading, true);
    d.db = leveldb_open(d.options, path, &message);
    check_engine(message, "open", path);
    return d;
}

/* The database uses the other objects until it is closed. */
void database_close(struct database *d)
{
    leveldb_close(d->db);
    leveldb_readoptions_destroy(d->reading);
    leveldb_options_destroy(d->options);
    leveldb_cache_destroy(d->cache);
    if (d->policy != NULL)
        leveldb_filterpolicy_destroy(d->policy);
}

char *database_get(const struct database *d, struct bloomfile_key key, size_t *size)
{
    char *message = NULL;
    char *value = leveldb_get(d->db, d->reading, key.data, key.size, size, &message);
    check_engine(message, "read from", d->path);
    return value;
}

/* Every batch is synced. A later sync would miss it if its log is closed by then. */
void database_write(const struct database *d, leveldb_writebatch_t *batch)
{
    char *message = NULL;
    leveldb_writeoptions_t *writing = leveldb_writeoptions_create();
    leveldb_writeoptions_set_sync(writing, true);
    leveldb_write(d->db, writing, batch, &message);
    leveldb_writeoptions_destroy(writing);
    check_engine(message, "write to", d->path);
    leveldb_writebatch_clear(batch);
}

/* LevelDB reports an error of a compaction at the next write, so an empty batch is written. */
void database_compact(const struct database *d)
{
    leveldb_writebatch_t *nothing = leveldb_writebatch_create();
    leveldb_compact_range(d->db, NULL, 0, NULL, 0);
    database_write(d, nothing);
    leveldb_writebatch_destroy(nothing);
}

void database_each(const struct database *d, database_row *call, void *context)
{
    char *message = NULL;
    leveldb_iterator_t *i = leveldb_create_iterator(d->db, d->reading);
    for (leveldb_iter_seek_to_first(i); leveldb_iter_valid(i); leveldb_iter_next(i)) {
        struct row row = { .line = 0 };
        row.key.data = leveldb_iter_key(i, &row.key.size);
        row.value.data = leveldb_iter_value(i, &row.value.size);
        call(context, &row);
    }
    leveldb_iter_get_error(i, &message);
    leveldb_iter_destroy(i);
    check_engine(message, "read from", d->path);
}
