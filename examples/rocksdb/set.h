/* SPDX-License-Identifier: MIT
 *
 * A set of rows to be shipped: a folder with SST files, the filter of their keys, and a manifest,
 * which is written last. An error ends the program.
 */
#ifndef SET_H
#define SET_H

#include "../shared.h"

/* ---- the identity of a set: a 128-bit hash over all rows in the order of their keys, so two sets
 * have the same identity only if they have the same rows */

#define IDENTITY_DIGITS (2 * BLOOMFILE_TAG_SIZE)

struct identity {
    uint8_t bytes[BLOOMFILE_TAG_SIZE];
};

struct identity_maker;

struct identity_maker *identity_begin(void);
void identity_add(struct identity_maker *maker, const struct bloomfile_key *key,
                  const struct bloomfile_key *value);

/* Returns the identity and releases the maker. */
struct identity identity_end(struct identity_maker *maker);

void identity_print(const struct identity *identity, char text[IDENTITY_DIGITS + 1]);

/* Reads the digits at the start of text. false if there are too few. */
bool identity_parse(const char *text, struct identity *identity);

/* ---- the folder */

#define MANIFEST   "MANIFEST"
#define SET_FILTER "set.bloom"

struct manifest {
    struct identity identity;
    uint64_t rows;
    unsigned files; /* set_file(folder, 0), ... */
};

/* The path of an SST file, from malloc(). */
char *set_file(const char *folder, unsigned number);

void manifest_write(const char *folder, const struct manifest *manifest);
struct manifest manifest_read(const char *folder);

/* ---- a new folder, which gets its name when all of it is on disk. An error or a signal leaves no
 * files. */

/* Creates the folder and returns its temporary name. */
const char *folder_begin(const char *folder);
void folder_finish(const char *folder);

/* Ends the program if it has received a signal to end. */
void folder_check_signals(void);

/* ---- operations of the program shipped */

/* Writes the rows of a file as a set to a new folder. Each SST file has about file_bytes bytes. */
void ship_set(const char *folder, const char *path, uint64_t file_bytes, uint32_t layout,
              double fpr);

/* Makes the set in `folder` the set of the database, and publishes its filter. After a kill or an
 * error at any moment, the database has either the old set or the new set. */
void ingest_set(const char *folder, const char *database);

/* Prints the rows of keys as "key<TAB>value". The key "-" stands for the lines of standard input.
 * true if a row was found. */
bool get_rows(const char *database, char *const *keys);

/* Prints the set of the database. true if its filter is in use. */
bool print_status(const char *database);

/* The path of a database's filter, "<database>.bloom", from malloc(). Ends the program for a path
 * such as ".", which does not contain the name of the database. */
char *filter_path(const char *database);

#endif
