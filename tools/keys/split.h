/* SPDX-License-Identifier: MIT
 * Splitting a buffer into keys. */
#ifndef TOOLS_KEYS_SPLIT_H
#define TOOLS_KEYS_SPLIT_H

#include "keys/fields.h"
#include "keys/form.h"

struct split {
    const uint8_t *at, *end; /* the rest of the buffer: whole keys */
    size_t record_size;      /* of each key; 0: keys end with `end_byte`; the last may lack it */
    uint8_t end_byte;
    bool whole; /* the rest is one key of text, with an end byte, and may have others inside */
    bool crlf;  /* a '\r' before `end_byte` is not part of the key */

    /* If keys are not whole records: */
    const struct fields *fields; /* NULL, or empty: keys are whole records */
    struct json_parser *json;    /* for JSON; then JSON_PADDING bytes follow `end` */
    const struct key_form *form; /* NULL: keys are unchanged */
    uint8_t *room;               /* key_form_room() bytes for the rest */
    uint64_t line;               /* the number of the line that begins at `first` */
    const uint8_t *first;
    uint64_t skipped;            /* records skipped */
    struct fault fault;          /* ends the split; `line` is then that of the record */
    struct bloomfile_key broken; /* the key of that record, if it has one */
};

/* Stores up to `max` of the next keys in keys[0 ..]. Returns their number, 0 at the end. */
size_t split_next(struct split *s, struct bloomfile_key *keys, size_t max);

/* Like split_next(), and also stores their records, with end bytes, in lines[0 ..]. */
size_t split_next_lines(struct split *s, struct bloomfile_key *keys, struct bloomfile_key *lines,
                        size_t max);

static inline bool split_has_fields(const struct split *s)
{
    return s->fields != NULL && s->fields->count > 0;
}

/* Whether keys differ from their records. */
static inline bool split_makes_keys(const struct split *s)
{
    return s->form != NULL || split_has_fields(s);
}

/* Returns the number of records in bytes[0 .. size). All have their end bytes. */
size_t split_count(const struct split *s, const uint8_t *bytes, size_t size);

/* Returns how many bytes at the start of bytes[0 .. size) are whole keys, each with its end
 * byte. Returns 0 also if the last of them ends in the first `seen` bytes, which the caller has
 * already counted. */
size_t split_whole(const struct split *s, const uint8_t *bytes, size_t size, size_t seen);

static inline bool split_is_broken(const struct split *s)
{
    return s->fault.kind != FAULT_NONE;
}

/* Returns the message for the fault, from malloc(). */
char *split_describe(const struct split *s, const char *input);

/* Ends the program through cli_fail() if a fault ended the split. */
void split_check(const struct split *s, const char *input);

#endif
