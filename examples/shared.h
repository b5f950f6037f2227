/* SPDX-License-Identifier: MIT
 *
 * Shared functions of the example programs: lines, rows as text, command lines, files. They do not
 * concern filters and are not meant to be copied. An error ends the program with a message and exit
 * status 2.
 */
#ifndef SHARED_H
#define SHARED_H

#include <bloomfile.h>

#include <stdbool.h>
#include <stdio.h>

/* Must be called first. If descriptor 0, 1 or 2 is closed, the next opened file gets its number,
 * and a message could be written into a table. So each closed descriptor is opened in the wrong
 * direction, and its use still fails with EBADF. (The library never uses these numbers for
 * filters.) */
void take_descriptors(void);

/* Unless error is 0 or NULL, ends the program with "cannot <what> <name>: <error>". */
void check_bloomfile(int error, const char *what, const char *name);
void check_engine(const char *error, const char *what, const char *name);

/* Returns memory. Ends the program if it is NULL. */
void *not_null(void *memory);

/* "<folder><separator><name>", from malloc(). */
char *join(const char *folder, const char *separator, const char *name);

/* ---- lines and rows */

struct lines {
    FILE *file;
    const char *name;
    char *text; /* the last line */
    size_t room, count;
};

/* Opens a file. NULL and "-" are standard input. */
struct lines lines_open(const char *path);

/* Reads a line without its newline. It is valid until the next call. false: end of the file. */
bool lines_next(struct lines *l, struct bloomfile_key *line);
void lines_close(struct lines *l);

struct row {
    struct bloomfile_key key, value;
    size_t line; /* counted from 1 */
};

/* Splits "key<TAB>value". false: the line has no tab. */
bool row_parse(const struct lines *l, struct bloomfile_key line, struct row *row);
void row_print(const struct row *row);

struct rows {
    size_t count;
    struct row *row;
};

/* All rows of a file, ordered by key and then by line. */
struct rows rows_read(const char *path);

/* Rows with keys only, in their given order: the arguments, where "-" stands for the lines of
 * standard input. */
struct rows keys_read(char *const *arguments);
void rows_sort(struct rows *rows);
void rows_free(struct rows *rows);

/* Compares bytes. A prefix comes first. */
int key_compare(const struct bloomfile_key *a, const struct bloomfile_key *b);

/* ---- command lines */

/* Decimal, or hexadecimal after 0x. */
bool parse_number(const char *text, uint64_t least, uint64_t greatest, uint64_t *number);

/* A rate above 0 and below 1. */
bool parse_rate(const char *text, double *rate);

/* "blocked" or "ribbon": the layouts for filters that are written once. */
bool parse_layout(const char *text, uint32_t *layout);

/* Closes standard output. Ends the program if not all of it was written. */
void finish_output(void);

/* ---- files; these return 0 or an errno */

int write_all(int fd, const void *data, size_t size);

/* Syncs the names in a directory. Does nothing if the file system does not support that. */
int sync_directory(const char *path);

/* ---- bytes of files; ends the program unless all of them are written or read */

void write_bytes(FILE *file, const void *bytes, size_t size);
void read_bytes(int fd, void *bytes, size_t size, uint64_t offset);

#endif
