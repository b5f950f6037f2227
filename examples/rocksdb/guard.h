/* SPDX-License-Identifier: MIT
 *
 * A filter in front of a column family: keys that are certainly absent never reach RocksDB. This is
 * the part to copy.
 */
#ifndef GUARD_H
#define GUARD_H

#include <bloomfile.h>
#include <rocksdb/c.h>

enum {
    GUARD_BATCH = 256
};

struct guard {
    rocksdb_t *db;
    rocksdb_column_family_handle_t *rows;
    rocksdb_readoptions_t *options;
    bloomfile_filter *filter; /* NULL: every key is looked up in RocksDB */
};

/* Opens a filter if it is sealed and belongs to the set of the database. Otherwise returns NULL and
 * the reason in *why. */
bloomfile_filter *guard_open(const char *path, const uint8_t set[BLOOMFILE_TAG_SIZE],
                             const char **why);

/* Returns the value, which the caller releases with rocksdb_pinnableslice_destroy(). NULL if the
 * key is absent, or on an error, which sets *error. */
rocksdb_pinnableslice_t *guard_get(const struct guard *g, const void *key, size_t size,
                                   char **error);

/* The same for a batch of at most GUARD_BATCH keys. */
void guard_get_many(const struct guard *g, const struct bloomfile_key *keys, size_t count,
                    rocksdb_pinnableslice_t **values, char **errors);

/* Checks the filter. Call it when the answers of a request are complete and before they are used.
 *
 * Returns 0 or an error. BLOOMFILE_ECHANGED: the file was overwritten, and a key without a value
 * may have one; open the guard again and repeat the request. After any other error nothing is lost,
 * because the keys concerned were looked up in RocksDB. Takes 2 to 8 us, and longer once if the
 * file's ctime has changed: then the bytes that answers relied on are read again. */
int guard_confirm(const struct guard *g);

#endif
