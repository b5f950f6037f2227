/* SPDX-License-Identifier: MIT
 * Keys that are values of JSON documents, one document per line: the path of the value, and a
 * parser that validates the whole document. */
#ifndef TOOLS_KEYS_JSON_H
#define TOOLS_KEYS_JSON_H

#include "keys/fields.h"

enum {
    JSON_PADDING = 64, /* bytes after a document that the parser may read */
    JSON_STEPS = 64,   /* maximum length of a path */
    JSON_DEPTH = 1024  /* maximum nesting of arrays and objects */
};

struct json_step {
    const char *name; /* name of an object member */
    size_t size;
    uint64_t index; /* the step as an index into an array; JSON_NO_INDEX: not a number */
};

/* The path from the document to the value. */
struct json_path {
    size_t count;
    struct json_step steps[JSON_STEPS];
};

#define JSON_NO_INDEX UINT64_MAX

/* Parses the value of an option: "a.b", or a JSON Pointer (RFC 6901) if it begins with '/'. Ends
 * the program through cli_usage() if the path is malformed, or if this build has no parser. */
void json_take_path(void *fields, char *value);

struct json_parser; /* one thread at a time may use it */

/* Returns NULL if memory runs out. */
struct json_parser *json_parser_new(void);

/* Sets *key to the text of the value in the document [start, end), in *room, which is advanced: a
 * string with its escapes decoded; a number, true or false as written. If an object has a name
 * twice, the last member counts. A byte order mark before the document is ignored. JSON_PADDING
 * bytes after the end must be readable, with any contents. */
struct fault json_find(struct json_parser *j, const struct fields *f, const uint8_t *start,
                       const uint8_t *end, uint8_t **room, struct bloomfile_key *key);

void json_parser_free(struct json_parser *j); /* j may be NULL */

#endif
