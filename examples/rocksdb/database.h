/* SPDX-License-Identifier: MIT
 *
 * A database that belongs to shipped sets. The rows of a set are in a column family of their own,
 * which nothing but ingestion writes: "set-a" or "set-b", in turn, so that a set is complete before
 * it takes the place of another. The default column family has the record of which one is in force.
 */
#ifndef DATABASE_H
#define DATABASE_H

#include <rocksdb/c.h>
#include <stdbool.h>

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

#endif
