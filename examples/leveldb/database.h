/* SPDX-License-Identifier: MIT
 *
 * A LevelDB database, opened so that damage is detected. An error ends the program with a message
 * and exit status 2.
 */
#ifndef DATABASE_H
#define DATABASE_H

#include "../shared.h"

#include <leveldb/c.h>

struct database {
    const char *path;
    leveldb_t *db;
    leveldb_options_t *options;
    leveldb_readoptions_t *reading;
    leveldb_cache_t *cache;
    leveldb_filterpolicy_t *policy;
};

/* The database owns the policy from then on; NULL for no policy. `cache` bytes are for blocks. */
struct database database_open(const char *path, bool create, leveldb_filterpolicy_t *policy,
                              size_t cache);
void database_close(struct database *d);

/* The value, which the caller releases with leveldb_free(); NULL if the key is absent. */
char *database_get(const struct database *d, struct bloomfile_key key, size_t *size);

/* Writes a batch to disk and clears it. */
void database_write(const struct database *d, leveldb_writebatch_t *batch);

void database_compact(const struct database *d);

/* Calls `call` for each row, in order of keys. */
typedef void database_row(void *context, const struct row *row);
void database_each(const struct database *d, database_row *call, void *context);

#endif
