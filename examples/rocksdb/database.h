/* SPDX-License-Identifier: MIT
 *
 * A database that belongs to shipped sets. The rows of a set are in a column family of their own,
 * which nothing but ingestion writes: "set-a" or "set-b", in turn, so that a set is complete before
 * it takes the place of another. The default column family has the record of which one is in force.
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
    rocksdb_column_family_handle_t *rows[DATABASE_SETS]; /* NULL: not there */
};

/* The name of a column family for rows. */
const char *database_set_name(unsigned set);

/* For one process, which nobody else may write beside. Makes the database if there is none. Trouble
 * ends the program, here and below. */
struct database database_open(const char *path);

/* For any number of processes, as it is now: what is ingested later is not seen. */
struct database database_open_reading(const char *path);

/* Column families, of the database_open() that is writing. */
void database_create_rows(struct database *d, unsigned set);
void database_drop_rows(struct database *d, unsigned set);

void database_close(struct database *d);

/* ---- the record
 *
 * What the database says of its rows: which set they are, in which column family, and in which SST
 * files, as ingestion left them:
 *
 *     1f0c...9a set-a /000010.sst /000011.sst
 *
 * Rows that are put, deleted or ingested later are in a memtable or in another file, and RocksDB
 * never gives a file's number to a second one. So as long as the files are these, and the memtables
 * are empty, the rows are those of the set. (Sequence numbers do not tell: an ingestion whose keys
 * lie beside all others does not advance them.)
 *
 * The record is not written to the write-ahead log, but flushed. Then it reaches readers, and what
 * is left after a crash, through the same log as the files it names, RocksDB's manifest, and after
 * them: there is no moment at which the record of a set is there and its rows are not.
 */

struct record {
    bool is_there;
    bool holds; /* the rows are as ingestion left them */
    struct identity identity;
    unsigned set; /* database.rows[set] is NULL if it was not there yet when it was opened */
};

struct record record_read(const struct database *d);

/* Puts the rows of a column family, as they are now, in force. */
void record_write(struct database *d, const struct identity *identity, unsigned set);

#endif
