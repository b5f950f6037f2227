/* SPDX-License-Identifier: MIT
 * Keys that are fields of records: the numbers of the fields, the delimiter, and the treatment of
 * records that lack a field. */
#ifndef TOOLS_KEYS_FIELDS_H
#define TOOLS_KEYS_FIELDS_H

#include <bloomfile.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

#include "keys/fault.h"
#include "keys/scan.h"

enum {
    FIELDS_MOST = 32
};

/* The treatment of a record that lacks a field. 0 means FIELDS_ERROR too. */
enum {
    FIELDS_ERROR = 1,
    FIELDS_SKIP,
    FIELDS_EMPTY
};

struct json_path;

struct fields {
    uint32_t count; /* 0: the whole record is the key; with `json`: 1, and `steps` is unused */
    struct fields_step {
        uint32_t number;   /* of the field, from 1 */
        uint32_t place;    /* of the field in the key */
        uint32_t from, to; /* indexes into `delimiters`: before and after the field (`from` unused
                              for field 1) */
    } steps[FIELDS_MOST];  /* in the order of the fields in a record */
    uint32_t delimiters[2 * FIELDS_MOST], delimiters_count; /* numbers of the delimiters to find */
    scan_pick *pick;
    uint32_t missing;
    uint8_t delimiter;
    bool has_delimiter; /* the user set it */
    bool csv;           /* records and fields as in csv.h */
    bool header;        /* the first record of an input is a header */
    const struct json_path
        *json;             /* the key is the value at this path of a JSON document (json.h) */
    const char *json_text; /* the path as the user wrote it */
    bool blank;            /* JSON: a blank line lacks the value; otherwise it is ignored */
    bool named;            /* `names` has `count` columns; header_find_columns() will set `steps` */
    struct fields_name {
        const uint8_t *bytes;
        size_t size;
        uint32_t number; /* 0: a name */
    } names[FIELDS_MOST];
};

/* Parse the values of options, for the table of options. */
void fields_take(void *fields, char *value);
void fields_take_delimiter(void *fields, char *value);
const char *fields_missing(uint32_t word);

/* Ends the program through cli_usage() if options are mutually exclusive. Sets the default
 * delimiter. `end_byte` ends a record; `fixed`: records have a fixed size instead. */
void fields_check(struct fields *f, char end_byte, bool fixed);

/* Inserts a field, in order of the numbers. Returns false if it is already present. */
bool fields_insert(struct fields *f, uint32_t number);

/* Replaces the fields by those of `other`. */
void fields_choose(struct fields *f, const struct fields *other);

/* Call this when `steps` is complete. fields_check() and header_find_columns() do. */
void fields_prepare(struct fields *f);

/* Sets *key to the key in the record [start, end). A key of several fields has them in the
 * requested order, joined by delimiters, in *room, which is advanced. Bytes up to `limit`
 * must be readable. */
struct fault fields_find(const struct fields *f, const uint8_t *start, const uint8_t *end,
                         const uint8_t *limit, uint8_t **room, struct bloomfile_key *key);

/* Returns an upper limit for the bytes of room that the keys of `records` records need, with
 * `bytes` bytes in all. It may exceed SIZE_MAX. */
uint64_t fields_room(const struct fields *f, uint64_t bytes, uint64_t records);

/* malloc() of such a room. */
static inline uint8_t *fields_allocate(uint64_t room)
{
    return room <= PTRDIFF_MAX ? (uint8_t *)malloc((size_t)room) : NULL;
}

/* Prints to stderr how many records of an input (NULL: of all inputs) were skipped, unless 0. */
void fields_tell_skipped(const struct fields *f, const char *path, uint64_t records);

/* Reports that all records were skipped, so that the delimiter or the number must be wrong. Ends
 * the program through cli_fail(), unless keep_going. */
void fields_tell_none(const struct fields *f, const char *path, bool keep_going);

#endif
