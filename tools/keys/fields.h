/* SPDX-License-Identifier: MIT
 *
 * Keys that are fields of records: the numbers of the fields, the delimiter, and the treatment of
 * records that lack a field; the header line.
 */
#ifndef TOOLS_KEYS_FIELDS_H
#define TOOLS_KEYS_FIELDS_H

#include <bloomfile.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keys/fault.h"
#include "keys/scan.h"

enum {
    FIELDS_MOST = 32
};

/* What a record without one of the fields is; 0 is an error too. */
enum {
    FIELDS_ERROR = 1,
    FIELDS_SKIP,
    FIELDS_EMPTY
};

struct json_path;

struct fields {
    uint32_t count; /* 0: the whole record is the key; with `json`: 1, and no steps */
    struct fields_step {
        uint32_t number;   /* of the field, from 1 */
        uint32_t place;    /* in the key */
        uint32_t from, to; /* of the delimiters below, those before it, if it is not the first one,
                            * and behind it */
    } steps[FIELDS_MOST];  /* as the fields follow one another in a record */
    uint32_t delimiters[2 * FIELDS_MOST], delimiters_count; /* to be found in a record, by number */
    scan_pick *pick;
    uint32_t missing;
    uint8_t delimiter;
    bool has_delimiter; /* it was given */
    bool csv;           /* records and fields are as csv.h says */
    bool header;        /* the first record of an input is none */
    const struct json_path
        *json;   /* records are JSON documents (json.h): of their value at this path */
    bool closed; /* a delimiter ends the key, so that none is the beginning of another */
};

/* For the table of options: */
void fields_take_numbers(void *fields, char *value);
void fields_take_delimiter(void *fields, char *value);
const char *fields_missing(uint32_t word);

/* Ends the program by cli_usage() if options are mutually exclusive; puts in the default delimiter.
 * `end_byte`: what ends a record; `fixed`: nothing does. */
void fields_check(struct fields *f, char end_byte, bool fixed);

/* Once the steps are there. fields_check() does it. */
void fields_prepare(struct fields *f);

/* Sets *key to the key in the record [start, end): the field, or if there are several all of them
 * in the order that was asked for, with delimiters between them, in *room, which moves on. Bytes up
 * to `limit` can be read. */
struct fault fields_find(const struct fields *f, const uint8_t *start, const uint8_t *end,
                         const uint8_t *limit, uint8_t **room, struct bloomfile_key *key);

/* How many bytes of room the keys of so many records, of so many bytes in all, need at most. */
size_t fields_room(const struct fields *f, size_t bytes, size_t records);

/* Tells on standard error how many records of an input (NULL: of all) were left out, if any were.
 */
void fields_tell_skipped(const struct fields *f, const char *path, uint64_t records);

/* The same if all were: the delimiter or the number must be wrong. That ends the program by
 * cli_fail, unless keep_going. */
void fields_tell_none(const struct fields *f, const char *path, bool keep_going);

/* ---- The header line: a first line that all inputs share, and that is not a key. */

enum {
    HEADER_LINE_MESSAGE = 9000 /* with two paths */
};

/* Begins as all zero. */
struct header_line {
    uint8_t *bytes; /* NULL: there has been none yet */
    size_t size;
    const char *path; /* of the input it is from */
};

/* Keeps the first one that comes, without what ends a line; with crlf, a carriage return there is
 * no part of any. false if this is another, whose fields may be others too: the message says so. */
bool header_line_take(struct header_line *h, const char *path, struct bloomfile_key line, bool crlf,
                      char message[HEADER_LINE_MESSAGE]);

/* Whether both name the key alike: the fields of it, by their numbers. Also true if either lacks
 * one, or was not read. */
bool header_line_has_same_key(const struct header_line *a, const struct header_line *b,
                              const struct fields *fields, bool crlf);

#endif
