/* SPDX-License-Identifier: MIT
 *
 * Fuzzes how tools delimit keys: lines with and without carriage returns, strings that end with a
 * zero byte, records of a fixed size, fields, and CSV. The keys must equal those of a plain loop,
 * for any size of the pieces in which the input arrives. CSV and keys with a form must give the
 * same keys for all sizes.
 */
#include "keys/keys.h"

#include "cli/interrupt.h"
#include "cli_stub.h"
#include "keys/source.h"
#include "target.h"

enum {
    CHOICES = 6, /* bytes at the beginning of the input */
    FIELDS = 3
};

/* ---- in place of source.c: returns the input in pieces of a chosen size */

atomic_int interrupt_signal;

static const uint8_t *input, *input_end;
static size_t input_step;

const char *source_name(const char *path)
{
    return path;
}

int source_survey(const char *path, uint64_t *size)
{
    (void)path;
    *size = (uint64_t)(input_end - input);
    return 0;
}

int source_open(struct source *s, const char *path)
{
    (void)path;
    s->bytes = 0;
    s->is_open = true;
    return 0;
}

ssize_t source_read(struct source *s, uint8_t *to, size_t size, const char **reason)
{
    const size_t left = (size_t)(input_end - input) - (size_t)s->bytes;
    size_t n = left < size ? left : size;
    n = n < input_step ? n : input_step;
    *reason = NULL;
    if (n > 0)
        memcpy(to, input + s->bytes, n);
    s->bytes += n;
    return (ssize_t)n;
}

void source_close(struct source *s)
{
    s->is_open = false;
}

/* ---- the keys found, in order, each after its size */

struct key_list {
    uint8_t *bytes;
    size_t size, room, count;
    bool is_trouble;
};

static void append(struct key_list *list, const uint8_t *key, size_t size)
{
    const size_t need = list->size + sizeof size + size;
    if (need > list->room) {
        list->room = 2 * need;
        list->bytes = realloc(list->bytes, list->room);
        expect(list->bytes != NULL);
    }
    memcpy(list->bytes + list->size, &size, sizeof size);
    if (size > 0)
        memcpy(list->bytes + list->size + sizeof size, key, size);
    list->size = need;
    list->count++;
}

static struct key_list keys_of(struct keys_options options, size_t step, size_t piece,
                               size_t at_once)
{
    char path[] = "input";
    char *const paths[] = { path };
    struct bloomfile_key keys[64];
    struct key_list list = { 0 };
    options.piece_size = piece;
    input_step = step;
    struct keys *k = keys_new(&options, paths, 1);
    for (size_t n; (n = keys_next(k, keys, at_once)) > 0;) {
        expect(n <= at_once);
        for (size_t i = 0; i < n; i++)
            append(&list, keys[i].data, keys[i].size);
    }
    list.is_trouble = keys_errors(k) > 0;
    keys_free(k);
    return list;
}

static void expect_same(struct key_list a, struct key_list b)
{
    expect(a.count == b.count && a.size == b.size && a.is_trouble == b.is_trouble);
    expect(a.size == 0 || memcmp(a.bytes, b.bytes, a.size) == 0);
    free(b.bytes);
}

/* ---- by a plain loop */

/* Finds the bytes of a field. Returns false if the line lacks the field. */
static bool field_of(const uint8_t *line, size_t size, uint8_t delimiter, uint32_t number,
                     const uint8_t **start, size_t *length)
{
    const uint8_t *end = line + size;
    for (uint32_t i = 1;; i++) {
        const uint8_t *next = size > 0 ? memchr(line, delimiter, (size_t)(end - line)) : NULL;
        *start = line;
        *length = (size_t)((next != NULL ? next : end) - line);
        if (i == number)
            return true;
        if (next == NULL)
            return false;
        line = next + 1;
    }
}

/* Returns false if the line lacks a field that it must have. */
static bool append_fields(struct key_list *list, const struct keys_options *o,
                          const uint32_t *numbers, const uint8_t *line, size_t size)
{
    uint8_t *key = malloc(FIELDS * (size + 1) + 1);
    size_t made = 0;
    bool lacks = false;
    expect(key != NULL);
    for (uint32_t i = 0; i < o->fields.count; i++) {
        const uint8_t *start;
        size_t length;
        const bool has = field_of(line, size, o->fields.delimiter, numbers[i], &start, &length);
        lacks = lacks || !has;
        if (i > 0)
            key[made++] = o->fields.delimiter;
        if (has && length > 0)
            memcpy(key + made, start, length);
        made += has ? length : 0;
    }
    if (!lacks || o->fields.missing == FIELDS_EMPTY)
        append(list, key, made);
    free(key);
    return !lacks || o->fields.missing == FIELDS_EMPTY || o->fields.missing == FIELDS_SKIP;
}

static struct key_list keys_due(const struct keys_options *o, const uint32_t *numbers)
{
    struct key_list list = { 0 };
    const uint8_t end_byte = (uint8_t)keys_end(o);
    for (const uint8_t *at = input, *end; at < input_end; at = end + 1) {
        if (o->record_size > 0 && (size_t)(input_end - at) < o->record_size) {
            list.is_trouble = true;
            break;
        }
        end = o->record_size > 0 ? at + o->record_size - 1
                                 : memchr(at, end_byte, (size_t)(input_end - at));
        end = end != NULL ? end : input_end;
        size_t size = (size_t)(end - at);
        if (o->record_size > 0)
            size++;
        else if (o->crlf && size > 0 && at[size - 1] == '\r')
            size--;
        if (o->fields.count == 0) {
            append(&list, at, size);
        } else if (!append_fields(&list, o, numbers, at, size)) {
            list.is_trouble = true;
            break;
        }
    }
    return list;
}

/* ---- */

/* Binary records can only be converted to lower case. */
static struct key_form form_from(unsigned choice, bool records)
{
    return (struct key_form){ .lower = choice == 1,
                              .hex = choice == 2 && !records,
                              .integers = choice == 3 && !records,
                              .domains = choice >= 4 && choice < 6 && !records,
                              .strict = choice == 4,
                              .key_size = choice == 6 && !records ? 3 : 0 };
}

static struct keys_options options_from(const uint8_t *choices, uint32_t *numbers)
{
    struct keys_options o = { .keep_going = true, .as_is = true };
    const unsigned kind = choices[0] % 8;
    char text[32];
    o.null = kind == 1;
    o.record_size = kind == 2 ? 1 + choices[1] % 40u : 0;
    o.crlf = kind == 3 || kind == 5;
    o.key_form = form_from(choices[0] / 8 % 8, o.record_size > 0);
    if (kind < 4)
        return o;
    const uint32_t count = 1 + choices[1] % FIELDS, first = 1 + choices[1] / 8 % 6;
    for (uint32_t i = 0; i < count; i++)
        numbers[i] = choices[1] & 0x40 ? first + count - i : first + i * (1 + (choices[1] >> 7));
    snprintf(text, sizeof text,
             count == 1   ? "%u"
             : count == 2 ? "%u,%u"
                          : "%u,%u,%u",
             numbers[0], numbers[1], numbers[2]);
    fields_take(&o.fields, text);
    o.fields.missing = choices[2] % 4;
    o.fields.csv = kind == 7;
    o.fields.delimiter = o.fields.csv ? ',' : '\t';
    o.crlf = o.crlf || o.fields.csv;
    fields_prepare(&o.fields);
    return o;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    uint32_t numbers[FIELDS] = { 0 };
    if (size < CHOICES)
        return 0;
    const struct keys_options options = options_from(data, numbers);
    uint8_t *bytes = copy_of(data + CHOICES, size - CHOICES);
    input = bytes;
    input_end = bytes + size - CHOICES;
    const struct key_list all = keys_of(options, SIZE_MAX, 0, 64);
    expect_same(all, keys_of(options, 1 + data[3], 1 + data[4], 1 + data[5] % 64));
    if (!options.fields.csv && keys_options_form(&options) == NULL)
        expect_same(all, keys_due(&options, numbers));
    struct keys_options judged = options;
    judged.as_is = false;
    judged.fields.header = options.record_size == 0 && (data[2] & 0x10) != 0;
    free(keys_of(judged, 1 + data[3], 1 + data[4], 64).bytes);
    free(all.bytes);
    free(bytes);
    return 0;
}
