/* SPDX-License-Identifier: MIT
 *
 * Keys that are fields of records: the numbers of the fields, the delimiter, and the treatment of
 * records that lack a field.
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
    uint32_t count; /* 0: the whole record is the key; with `json`: 1, and `steps` is not used */
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
        *json;  /* records are JSON documents (json.h), and keys are their values at this path */
    bool blank; /* JSON: a blank line lacks the value; otherwise it is ignored */
    bool named; /* `names` has `count` columns, and `steps` has none until header_find_columns() */
    struct fields_name {
        const uint8_t *bytes;
        size_t size;
        uint32_t number; /* 0: it is a name */
    } names[FIELDS_MOST];
};

/* For the table of options: */
void fields_take(void *fields, char *value);
void fields_take_delimiter(void *fields, char *value);
const char *fields_missing(uint32_t word);

/* Ends the program by cli_usage() if options are mutually exclusive; puts in the default delimiter.
 * `end_byte`: what ends a record; `fixed`: nothing does. */
void fields_check(struct fields *f, char end_byte, bool fixed);

/* Inserts a field, in order of the numbers. Returns false if it is already there. */
bool fields_insert(struct fields *f, uint32_t number);

/* Replaces the fields by those of `other`. */
void fields_choose(struct fields *f, const struct fields *other);

/* Call it when `steps` is complete. fields_check() and header_find_columns() do. */
void fields_prepare(struct fields *f);

/* Sets *key to the key in the record [start, end). A key of several fields has them in the
 * requested order, joined by delimiters, in *room, which is advanced. Bytes up to `limit` can be
 * read. */
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

#endif
