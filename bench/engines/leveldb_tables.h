/* SPDX-License-Identifier: MIT
 *
 * The files that LevelDB keeps tables in.
 */
#ifndef BLOOMFILE_BENCH_LEVELDB_TABLES_H
#define BLOOMFILE_BENCH_LEVELDB_TABLES_H

#include <stdint.h>

/* From now on, what is read of the tables that are mapped is a page at a time: the system would
 * read up to a whole table around it. Forgets what has been read. */
void tables_map_pages_alone(void);

/* The bytes of a database's tables. */
uint64_t tables_size(const char *database);

#endif
