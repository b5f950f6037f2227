/* SPDX-License-Identifier: MIT
 *
 * The form of keys: text whose case does not matter, hexadecimal, decimal integers, domain names. A
 * key is put into its form once it is found in its record.
 */
#ifndef TOOLS_KEYS_FORM_H
#define TOOLS_KEYS_FORM_H

#include <bloomfile.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "keys/fault.h"
#include "keys/fields.h"

enum {
    KEY_FORM_DOMAIN = 1024 /* bytes of a domain name at most, escapes and UTF-8 included */
};

struct key_form {
    bool lower;        /* A to Z become a to z */
    bool hex;          /* the key is the bytes that are written there */
    bool integers;     /* the key is the 8 bytes of the number, little-endian */
    bool domains;      /* as `lower`, without a dot at the end */
    uint32_t key_size; /* bytes of each key then; 0: any */

    /* What the tool needs: */
    bool strict; /* domains: other lines than names are faults, because no lookup would find them */
    bool text;   /* hexadecimal and integers stay text, alike for equal keys */
};

/* Whether keys are anything but the bytes of their records. */
static inline bool key_form_is_set(const struct key_form *f)
{
    return f->lower || f->hex || f->integers || f->domains || f->key_size > 0;
}

/* The option, for messages; NULL: keys are text as it stands there, or records. */
const char *key_form_option(const struct key_form *f);

/* Ends the program by cli_usage() if it does not go with the other options. */
void key_form_check(const struct key_form *f, const struct fields *fields, size_t record_size);

/* Puts a key into its form, in *room, which moves on. A fault leaves the key as it was. */
struct fault key_form_apply(const struct key_form *f, uint8_t **room, struct bloomfile_key *key);

/* How many bytes of room the keys of so many records, of so many bytes in all, need at most, once
 * they are found and once they have their form. */
size_t key_form_room(const struct key_form *f, const struct fields *fields, size_t bytes,
                     size_t records);

/* Replaces A to Z by a to z. `to` may be `from`. */
void key_form_fold(uint8_t *to, const uint8_t *from, size_t size);

#endif
