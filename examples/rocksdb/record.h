/* SPDX-License-Identifier: MIT
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
#ifndef RECORD_H
#define RECORD_H

#include "database.h"
#include "identity.h"

struct record {
    bool is_there;
    bool holds; /* the rows are as ingestion left them */
    struct identity identity;
    unsigned set; /* database.rows[set] is NULL if it was not there yet when it was opened */
};

/* All that follow end the program on trouble. */
struct record record_read(const struct database *d);

/* Puts the rows of a column family, as they are now, in force. */
void record_write(struct database *d, const struct identity *identity, unsigned set);

#endif
