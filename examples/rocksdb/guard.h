/* SPDX-License-Identifier: MIT
 *
 * A filter in front of a column family: keys that are certainly not there never reach RocksDB. This
 * is the part to copy.
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
    bloomfile_filter *filter; /* NULL: RocksDB is asked about every key */
};

/* Opens a filter if it is sealed, and of the set that the database has. Otherwise returns NULL, and
 * *why tells what is wrong. */
bloomfile_filter *guard_open(const char *path, const uint8_t set[BLOOMFILE_TAG_SIZE],
                             const char **why);

/* The value, which the caller releases with rocksdb_pinnableslice_destroy(); NULL if there is none,
 * or *error is set. */
rocksdb_pinnableslice_t *guard_get(const struct guard *g, const void *key, size_t size,
                                   char **error);

/* The same for at most GUARD_BATCH keys at once. */
void guard_get_many(const struct guard *g, const struct bloomfile_key *keys, size_t count,
                    rocksdb_pinnableslice_t **values, char **errors);

/* Call it when the answers of a request are complete, and before they are used. Returns 0, or what
 * is wrong with the filter. BLOOMFILE_ECHANGED: its file was overwritten, and a key without a value
 * may have one; open the guard again and repeat the request. Any other error: nothing is lost, for
 * RocksDB was asked about the keys concerned. Takes 2 to 8 us, and longer once if the
 * file's ctime has changed: then what answers relied on is read again. */
int guard_confirm(const struct guard *g);

#endif
