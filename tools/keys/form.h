/* SPDX-License-Identifier: MIT
 * The form of keys: text in any case, hexadecimal, decimal integers, domain names. Each key is
 * converted after it is found in its record. */
#ifndef TOOLS_KEYS_FORM_H
#define TOOLS_KEYS_FORM_H

#include <bloomfile.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keys/fault.h"
#include "keys/fields.h"

enum {
    KEY_FORM_DOMAIN = 1024 /* maximum bytes of a domain name, including escapes and UTF-8 */
};

struct key_form {
    bool lower;        /* A to Z become a to z */
    bool hex;          /* the digits become the bytes */
    bool integers;     /* the number becomes 8 bytes, little-endian */
    bool domains;      /* like `lower`, and a dot at the end is removed, or refused if strict */
    uint32_t key_size; /* required bytes of the converted key; 0: any */

    /* Set by the tool: */
    bool strict; /* domains: refuse names that no lookup would find */
    bool text;   /* hexadecimal and integers become canonical text instead of bytes */
};

/* Whether keys are converted or checked. */
static inline bool key_form_is_set(const struct key_form *f)
{
    return f->lower || f->hex || f->integers || f->domains || f->key_size > 0;
}

/* The option, for messages; NULL if keys are not converted. */
const char *key_form_option(const struct key_form *f);

/* Ends the program through cli_usage() if the form and other options are mutually exclusive. */
void key_form_check(const struct key_form *f, const struct fields *fields, size_t record_size);

/* Converts a key into *room, which is advanced. A fault leaves the key unchanged. */
struct fault key_form_apply(const struct key_form *f, uint8_t **room, struct bloomfile_key *key);

/* Returns an upper limit for the bytes of room that the keys of `records` records need, as found
 * and as converted, with `bytes` bytes in all. It may exceed SIZE_MAX: fields_allocate(). */
uint64_t key_form_room(const struct key_form *f, const struct fields *fields, uint64_t bytes,
                       uint64_t records);

/* For a key of `domains`: whether a dot was removed. The dot still follows the key. */
static inline bool key_form_had_dot(const struct bloomfile_key *key)
{
    return ((const uint8_t *)key->data)[key->size] == '.';
}

/* Replaces A to Z by a to z. `to` may equal `from`. */
void key_form_fold(uint8_t *to, const uint8_t *from, size_t size);

#endif
