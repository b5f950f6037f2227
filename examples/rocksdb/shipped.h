/* SPDX-License-Identifier: MIT
 *
 * What the program shipped does. Trouble ends it.
 */
#ifndef SHIPPED_H
#define SHIPPED_H

#include <stdbool.h>
#include <stdint.h>

/* Writes the rows of a file as a set to a new folder. An SST file is ended when it has about so
 * many bytes. */
void ship_set(const char *folder, const char *path, uint64_t file_bytes, double fpr);

/* Makes the set in `folder` the one that the database has, and publishes its filter. Killed at any
 * moment, or ended by trouble, the database has the old set or the new one. */
void ingest_set(const char *folder, const char *database);

/* Prints the rows of keys as "key<TAB>value". Keys: those given; "-" stands for the lines of
 * standard input. true if a row was found. */
bool get_rows(const char *database, char *const *keys);

/* Prints what the database has. true if its filter is in use. */
bool print_status(const char *database);

/* The filter of a database, beside it: "<database>.bloom", from malloc(). */
char *filter_path(const char *database);

#endif
