/* SPDX-License-Identifier: MIT
 *
 * Keys that are values of JSON documents, one document a line: the path of the value, and a parser,
 * which checks all of each document.
 */
#ifndef TOOLS_KEYS_JSON_H
#define TOOLS_KEYS_JSON_H

#include "keys/fields.h"

enum {
    JSON_PADDING = 64, /* bytes behind a document that the parser may read */
    JSON_STEPS = 64,   /* of a path, at most */
    JSON_DEPTH = 1024  /* of nested arrays and objects, at most */
};

struct json_step {
    const char *name; /* of a member of an object */
    size_t size;
    uint64_t index; /* the same step into an array; JSON_NO_INDEX: there is none */
};

/* The steps from the document to the value. */
struct json_path {
    size_t count;
    struct json_step steps[JSON_STEPS];
};

#define JSON_NO_INDEX UINT64_MAX

/* For the table of options: "a.b", or a JSON Pointer (RFC 6901) if it begins with '/'. Ends the
 * program by cli_usage() if it is neither, or if this build has no parser. */
void json_take_path(void *fields, char *value);

struct json_parser; /* a parser, for one thread at a time */

/* NULL: there is not enough memory. */
struct json_parser *json_parser_new(void);

/* Sets *key to the text of the value in the document [start, end), in *room, which moves on: of a
 * string, without its escapes; of a number its digits, of true and false the word, as they are
 * written. If a name occurs twice in an object, the last one counts. A byte order mark before the
 * document is ignored. JSON_PADDING bytes behind the end can be read, and have any value. */
struct fault json_find(struct json_parser *j, const struct fields *f, const uint8_t *start,
                       const uint8_t *end, uint8_t **room, struct bloomfile_key *key);

void json_parser_free(struct json_parser *j); /* or NULL */

#endif
