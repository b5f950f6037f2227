/* SPDX-License-Identifier: MIT
 *
 * A RocksDB database for shipped sets. Each set has its rows in its own column family, which only
 * ingestion writes. The families "set-a" and "set-b" alternate, so a set is complete before it
 * replaces another. A record in the default column family names the current set.
 */
#ifndef DATABASE_H
#define DATABASE_H

#include "set.h"

#include <rocksdb/c.h>

enum {
    DATABASE_SETS = 2
};

struct database {
    const char *path;
    rocksdb_t *db;
    rocksdb_options_t *options;
    rocksdb_column_family_handle_t *records;
    rocksdb_column_family_handle_t *rows[DATABASE_SETS]; /* NULL: does not exist */
};

/* The name of a column family for rows. */
const char *database_set_name(unsigned set);

/* Opens the database for the only process that may write. Creates it if it does not exist. Here and
 * below, an error ends the program. */
struct database database_open(const char *path);

/* Opens the database as it is now, for any number of processes. Later ingestions are not visible.
 */
struct database database_open_reading(const char *path);

/* Create and drop a column family for rows, after database_open(). */
void database_create_rows(struct database *d, unsigned set);
void database_drop_rows(struct database *d, unsigned set);

void database_close(struct database *d);

/* ---- the record
 *
 * The record describes the current rows: their set, their column family, and the SST files that
 * ingestion left:
 *
 *     1f0c...9a set-a /000010.sst /000011.sst
 *
 * Rows that are put, deleted or ingested later are in a memtable or in another file, and RocksDB
 * never uses a file number twice. So while the files are the same and the memtables are empty, the
 * rows are those of the set. (Sequence numbers do not show this: an ingestion whose keys do not
 * overlap the other keys does not advance them.)
 *
 * The record is flushed, not written to the write-ahead log. So it goes through the same log as the
 * files it names, RocksDB's manifest, and after them. A reader, or a restart after a crash,
 * never sees the record of a set without its rows.
 */

struct record {
    bool is_there;
    bool holds; /* the rows are unchanged since ingestion */
    struct identity identity;
    unsigned set; /* database.rows[set] is NULL if created after the database was opened */
};

struct record record_read(const struct database *d);

/* Makes the present rows of a column family the current set. */
void record_write(struct database *d, const struct identity *identity, unsigned set);

#endif
