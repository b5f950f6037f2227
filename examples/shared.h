/* SPDX-License-Identifier: MIT
 *
 * Functions that the programs around the examples share: lines, rows as text, command lines, files.
 * Nothing here is about filters, and nothing is for copying. Trouble ends the program: a message,
 * status 2.
 */
#ifndef SHARED_H
#define SHARED_H

#include <bloomfile.h>

#include <stdbool.h>
#include <stdio.h>

/* To be called first. A descriptor 0, 1 or 2 that is closed would be given to the next file that is
 * opened, and a message be written into a table. So each is taken by what can only be used the
 * wrong way round: reading or writing it goes on being EBADF. (Filters never get one of them: the
 * library sees to that.) */
void take_descriptors(void);

/* Ends the program unless error is 0, or NULL: "cannot <what> <name>: <why>". */
void check_bloomfile(int error, const char *what, const char *name);
void check_engine(const char *error, const char *what, const char *name);

/* Memory, or the end of the program. */
void *not_null(void *memory);

/* "<folder><separator><name>", from malloc(). */
char *join(const char *folder, const char *separator, const char *name);

/* ---- lines and rows */

struct lines {
    FILE *file;
    const char *name;
    char *text; /* of the last line */
    size_t room, count;
};

/* NULL and "-" are standard input. */
struct lines lines_open(const char *path);

/* Without its newline, valid until the next; false: there is none any more. */
bool lines_next(struct lines *l, struct bloomfile_key *line);
void lines_close(struct lines *l);

struct row {
    struct bloomfile_key key, value;
    size_t line; /* from 1 on */
};

/* "key<TAB>value"; false: there is no tab. */
bool row_parse(const struct lines *l, struct bloomfile_key line, struct row *row);
void row_print(const struct row *row);

struct rows {
    size_t count;
    struct row *row;
};

/* All rows of a file, in order of keys and then lines. */
struct rows rows_read(const char *path);

/* The same of keys, without values: the arguments, "-" for the lines of standard input. They stay
 * in the order in which they are given. */
struct rows keys_read(char *const *arguments);
void rows_sort(struct rows *rows);
void rows_free(struct rows *rows);

/* By the bytes, a prefix first. */
int key_compare(const struct bloomfile_key *a, const struct bloomfile_key *b);

/* ---- command lines */

/* Decimal, or hexadecimal after 0x. */
bool parse_number(const char *text, uint64_t least, uint64_t greatest, uint64_t *number);

/* Above 0 and below 1. */
bool parse_rate(const char *text, double *rate);

/* "blocked" or "ribbon": the layouts for what is written once and only asked. */
bool parse_layout(const char *text, uint32_t *layout);

/* Standard output is written, or the program ends. */
void finish_output(void);

/* ---- files; errors are an errno */

int write_all(int fd, const void *data, size_t size);

/* The names in a directory go to disk; where the file system has no such call, nothing is done. */
int sync_directory(const char *path);

/* ---- bytes of files, all of them */

void write_bytes(FILE *file, const void *bytes, size_t size);
void read_bytes(int fd, void *bytes, size_t size, uint64_t offset);

#endif
