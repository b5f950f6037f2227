/* SPDX-License-Identifier: MIT
 * Conversion of keys to their form: folding, decoding and checking. */
#include "keys/form.h"

#include "cli/cli.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#ifdef __SSE2__
#include <emmintrin.h>
#endif

enum {
    INTEGER_SIZE = 8,
    INTEGER_TEXT = 21, /* the longest integer with a zero byte */
    DIGIT = 0x10,      /* marks a digit in the table; the lower bits are its value */
    BLOCK = 16
};

const char *key_form_option(const struct key_form *f)
{
    return f->integers  ? "--integers"
           : f->hex     ? "--hex"
           : f->domains ? "--domains"
           : f->lower   ? "-i"
                        : NULL;
}

void key_form_check(const struct key_form *f, const struct fields *fields, size_t record_size)
{
    const char *option = key_form_option(f);
    if (record_size > 0 && f->integers && record_size != INTEGER_SIZE)
        cli_usage("--integers takes records of 8 bytes: -x 8");
    if (record_size > 0 && (f->key_size > 0 || (option != NULL && !f->integers)))
        cli_usage("-x/--record-size and %s are mutually exclusive",
                  option != NULL ? option : "--key-size");
    if (f->key_size > 0 && (f->integers || f->domains))
        cli_usage("--key-size and %s are mutually exclusive", option);
    if (option != NULL && !f->lower && fields->count > 1)
        cli_usage("%s takes one --field, not several", option);
    if (f->lower && fields->count > 1 && fields->delimiter >= 'A' && fields->delimiter <= 'Z')
        cli_usage("--delimiter cannot be a capital letter with -i");
}

uint64_t key_form_room(const struct key_form *f, const struct fields *fields, uint64_t bytes,
                       uint64_t records)
{
    const uint64_t found = fields_room(fields, bytes, records);
    const size_t integer = f->text ? INTEGER_TEXT : INTEGER_SIZE;
    return !key_form_is_set(f) ? found
           : f->integers       ? found + records * integer
                               : found + (found > bytes ? found : bytes) +
                               (f->domains ? records : 0); /* the byte after each name */
}

void key_form_fold(uint8_t *to, const uint8_t *from, size_t size)
{
    for (size_t i = 0; i < size; i++)
        to[i] = (uint8_t)(from[i] | (from[i] >= 'A' && from[i] <= 'Z' ? 'a' - 'A' : 0));
}

/* ---- Hexadecimal. `size` is the number of digits, and even. Both functions return whether all
 * bytes are digits. */

static const uint8_t digits[256] = {
    ['0'] = DIGIT | 0,  ['1'] = DIGIT | 1,  ['2'] = DIGIT | 2,  ['3'] = DIGIT | 3,
    ['4'] = DIGIT | 4,  ['5'] = DIGIT | 5,  ['6'] = DIGIT | 6,  ['7'] = DIGIT | 7,
    ['8'] = DIGIT | 8,  ['9'] = DIGIT | 9,  ['A'] = DIGIT | 10, ['B'] = DIGIT | 11,
    ['C'] = DIGIT | 12, ['D'] = DIGIT | 13, ['E'] = DIGIT | 14, ['F'] = DIGIT | 15,
    ['a'] = DIGIT | 10, ['b'] = DIGIT | 11, ['c'] = DIGIT | 12, ['d'] = DIGIT | 13,
    ['e'] = DIGIT | 14, ['f'] = DIGIT | 15,
};

static bool decode_few(uint8_t *to, const uint8_t *from, size_t size)
{
    unsigned all = DIGIT;
    for (size_t i = 0; i < size; i += 2) {
        const unsigned high = digits[from[i]], low = digits[from[i + 1]];
        all &= high & low;
        to[i / 2] = (uint8_t)(high << 4 | (low ^ DIGIT));
    }
    return all != 0;
}

#ifdef __SSE2__
/* Returns 0xFF for each digit, 0 for other bytes. */
static __m128i decode_block(uint8_t *to, const uint8_t *from)
{
    const __m128i text = _mm_loadu_si128((const __m128i *)(const void *)from);
    const __m128i number = _mm_sub_epi8(text, _mm_set1_epi8('0'));
    const __m128i letter =
        _mm_sub_epi8(_mm_or_si128(text, _mm_set1_epi8(0x20)), _mm_set1_epi8('a'));
    const __m128i is_number = _mm_cmpeq_epi8(_mm_min_epu8(number, _mm_set1_epi8(9)), number);
    const __m128i is_letter = _mm_cmpeq_epi8(_mm_min_epu8(letter, _mm_set1_epi8(5)), letter);
    const __m128i values =
        _mm_or_si128(_mm_and_si128(is_number, number),
                     _mm_and_si128(is_letter, _mm_add_epi8(letter, _mm_set1_epi8(10))));
    const __m128i bytes = _mm_and_si128(
        _mm_or_si128(_mm_slli_epi16(values, 4), _mm_srli_epi16(values, 8)), _mm_set1_epi16(0xFF));
    _mm_storel_epi64((__m128i *)(void *)to, _mm_packus_epi16(bytes, bytes));
    return _mm_or_si128(is_number, is_letter);
}
#endif

static bool decode(uint8_t *to, const uint8_t *from, size_t size)
{
#ifdef __SSE2__
    if (size >= BLOCK) { /* the last block may overlap the block before */
        __m128i all = decode_block(to + (size - BLOCK) / 2, from + size - BLOCK);
        for (size_t i = 0; size - i > BLOCK; i += BLOCK)
            all = _mm_and_si128(all, decode_block(to + i / 2, from + i));
        return _mm_movemask_epi8(all) == 0xFFFF;
    }
#endif
    return decode_few(to, from, size);
}

static struct fault take_hex(const struct key_form *f, uint8_t *to, struct bloomfile_key *key)
{
    const uint8_t *from = key->data;
    const size_t size = key->size / 2;
    if (f->key_size > 0 && key->size != 2 * (size_t)f->key_size)
        return (struct fault){ FAULT_HEX_SIZE, f->key_size };
    if (key->size % 2 != 0)
        return (struct fault){ .kind = FAULT_HEX_ODD };
    if (!decode(to, from, key->size))
        return (struct fault){ .kind = FAULT_HEX };
    if (f->text)
        key_form_fold(to, from, key->size);
    *key = (struct bloomfile_key){ to, f->text ? key->size : size };
    return (struct fault){ 0 };
}

/* Parses an integer from -2^63 to 2^64 - 1. */
static bool read_integer(const struct bloomfile_key *key, bool *negative, uint64_t *value)
{
    const uint8_t *at = key->data, *end = at + key->size;
    *value = 0;
    *negative = at < end && *at == '-';
    at += *negative;
    if (at == end)
        return false;
    for (; at < end; at++) {
        if (*at < '0' || *at > '9' || __builtin_mul_overflow(*value, UINT64_C(10), value) ||
            __builtin_add_overflow(*value, (uint64_t)(*at - '0'), value))
            return false;
    }
    return !*negative || *value <= (uint64_t)INT64_MAX + 1;
}

static struct fault take_integer(const struct key_form *f, uint8_t *to, struct bloomfile_key *key)
{
    bool negative;
    uint64_t value;
    size_t size = INTEGER_SIZE;
    if (!read_integer(key, &negative, &value))
        return (struct fault){ .kind = FAULT_INTEGER };
    value = negative ? 0 - value : value; /* -1 and 2^64 - 1 are the same key */
    if (f->text)
        size = (size_t)snprintf((char *)to, INTEGER_TEXT, "%" PRIu64, value);
    for (size_t i = 0; i < INTEGER_SIZE && !f->text; i++)
        to[i] = (uint8_t)(value >> 8 * i);
    *key = (struct bloomfile_key){ to, size };
    return (struct fault){ 0 };
}

/* A domain name consists of labels of letters (also UTF-8), digits, '-' and '_', and no
 * label is empty. */
static bool is_domain(const uint8_t *name, size_t size)
{
    bool dot = true;
    for (size_t i = 0; i < size; i++) {
        const uint8_t c = name[i];
        if (c == '.' ? dot
                     : !(c >= 0x80 || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') ||
                         c == '-' || c == '_'))
            return false;
        dot = c == '.';
    }
    return !dot && size <= KEY_FORM_DOMAIN;
}

static struct fault take_domain(const struct key_form *f, uint8_t *to, struct bloomfile_key *key)
{
    const uint8_t *from = key->data;
    const bool has_dot = key->size > 0 && from[key->size - 1] == '.';
    const size_t size = key->size - has_dot;
    key_form_fold(to, from, size);
    to[size] = has_dot ? '.' : 0;
    if (f->strict && (has_dot || !is_domain(to, size)))
        return (struct fault){ .kind = is_domain(to, size) ? FAULT_DOT : FAULT_DOMAIN };
    *key = (struct bloomfile_key){ to, size };
    return (struct fault){ 0 };
}

static struct fault take_text(const struct key_form *f, uint8_t *to, struct bloomfile_key *key)
{
    if (f->key_size > 0 && key->size != f->key_size)
        return (struct fault){ FAULT_SIZE, f->key_size };
    if (f->lower) {
        key_form_fold(to, key->data, key->size);
        key->data = to;
    }
    return (struct fault){ 0 };
}

struct fault key_form_apply(const struct key_form *f, uint8_t **room, struct bloomfile_key *key)
{
    uint8_t *to = *room;
    const struct fault fault = f->hex        ? take_hex(f, to, key)
                               : f->integers ? take_integer(f, to, key)
                               : f->domains  ? take_domain(f, to, key)
                                             : take_text(f, to, key);
    if (fault.kind != FAULT_NONE)
        return fault;
    if (key->data == to)
        *room = to + key->size + f->domains;
    return fault;
}
