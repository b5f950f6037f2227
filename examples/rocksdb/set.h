/* SPDX-License-Identifier: MIT
 *
 * A set of rows on its way: a folder with SST files, the filter of their keys, and a list of
 * contents, which is written last. Trouble ends the program.
 */
#ifndef SET_H
#define SET_H

#include "../shared.h"

/* ---- a 128-bit hash over all rows, in the order of their keys: sets with the same rows have the
 * same identity, others do not */

#define IDENTITY_DIGITS (2 * BLOOMFILE_TAG_SIZE)

struct identity {
    uint8_t bytes[BLOOMFILE_TAG_SIZE];
};

struct identity_maker;

struct identity_maker *identity_begin(void);
void identity_add(struct identity_maker *maker, const struct bloomfile_key *key,
                  const struct bloomfile_key *value);

/* Releases the maker. */
struct identity identity_end(struct identity_maker *maker);

void identity_print(const struct identity *identity, char text[IDENTITY_DIGITS + 1]);

/* Reads the digits that text begins with. false if there are too few. */
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

/* ---- a new folder, which gets its name when all of it is on disk. Trouble, or a signal to end,
 * leaves nothing. */

/* Its name for now. */
const char *folder_begin(const char *folder);
void folder_finish(const char *folder);

/* Ends the program if it is to end. */
void folder_check_signals(void);

/* ---- what the program shipped does with it */

/* Writes the rows of a file as a set to a new folder. An SST file is ended when it has about so
 * many bytes. */
void ship_set(const char *folder, const char *path, uint64_t file_bytes, uint32_t layout,
              double fpr);

/* Makes the set in `folder` the one that the database has, and publishes its filter. Killed at any
 * moment, or ended by trouble, the database has the old set or the new one. */
void ingest_set(const char *folder, const char *database);

/* Prints the rows of keys as "key<TAB>value". Keys: those given; "-" stands for the lines of
 * standard input. true if a row was found. */
bool get_rows(const char *database, char *const *keys);

/* Prints what the database has. true if its filter is in use. */
bool print_status(const char *database);

/* The filter of a database, beside it: "<database>.bloom", from malloc(). Ends the program for "."
 * and the like, by which the database has no name. */
char *filter_path(const char *database);

#endif
