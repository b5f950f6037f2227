/* SPDX-License-Identifier: MIT
 * Fields of records, found by the delimiters around them. Only keys of several
 * fields are copied. */
#include "keys/fields.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum {
    SLACK = 32 /* bytes of room after the last key */
};

/* ------------------------------------------------------------------------------------- options */

static _Noreturn void refuse(const char *value)
{
    cli_usage(
        "--field takes the numbers or names of up to %d different fields such as 2, 3,1 or id, "
        "not '%s'",
        FIELDS_MOST, value);
}

/* Returns 0 if the text is not a number from 1, so that it may be a name. */
static uint32_t number_of(const char *digits, size_t size, const char *value)
{
    uint64_t number = 0;
    for (size_t i = 0; i < size; i++) {
        if (digits[i] < '0' || digits[i] > '9')
            return 0;
        number = number * 10 + (uint64_t)(digits[i] - '0');
        if (number > INT32_MAX)
            refuse(value);
    }
    if (number == 0)
        refuse(value);
    return (uint32_t)number;
}

/* Decodes the quoted name in `text` in place; two quotes stand for one. Returns the end of the name
 * in the text, or NULL if the closing quote is missing. */
static char *unquote(char *text, struct fields_name *name)
{
    char *to = text, *at = text + 1;
    name->bytes = (const uint8_t *)text;
    for (; *at != '\0' && (*at != '"' || at[1] == '"'); at++) {
        *to++ = *at;
        at += *at == '"';
    }
    name->size = (size_t)(to - text);
    return *at == '"' ? at + 1 : NULL;
}

/* Reads a number, a name or a quoted name. Returns its end. */
static char *read_name(char *text, const char *value, struct fields_name *name)
{
    *name = (struct fields_name){ 0 };
    if (*text == '"') {
        char *end = unquote(text, name);
        if (end == NULL || (*end != ',' && *end != '\0'))
            refuse(value);
        return end;
    }
    const size_t size = strcspn(text, ",");
    if (size == 0)
        refuse(value);
    *name = (struct fields_name){ (const uint8_t *)text, size, number_of(text, size, value) };
    return text + size;
}

bool fields_insert(struct fields *f, uint32_t number)
{
    uint32_t i = f->count;
    for (; i > 0 && f->steps[i - 1].number >= number; i--) {
        if (f->steps[i - 1].number == number)
            return false;
        f->steps[i] = f->steps[i - 1];
    }
    f->steps[i] = (struct fields_step){ .number = number, .place = f->count++ };
    return true;
}

void fields_take(void *fields, char *value)
{
    struct fields *f = fields;
    uint32_t count = 0;
    f->named = false;
    for (char *at = value;; at++) {
        if (count == FIELDS_MOST)
            refuse(value);
        at = read_name(at, value, &f->names[count]);
        f->named = f->named || f->names[count].number == 0;
        count++;
        if (*at == '\0')
            break;
    }
    f->count = 0;
    for (uint32_t i = 0; i < count && !f->named; i++) {
        if (!fields_insert(f, f->names[i].number))
            refuse(value);
    }
    f->count = count;
}

void fields_choose(struct fields *f, const struct fields *other)
{
    f->count = other->count;
    f->named = other->named;
    memcpy(f->names, other->names, sizeof(f->names));
    memcpy(f->steps, other->steps, sizeof(f->steps));
}

void fields_take_delimiter(void *fields, char *value)
{
    struct fields *f = fields;
    const bool is_tab = strcmp(value, "\\t") == 0;
    if (!is_tab && strlen(value) != 1)
        cli_usage("--delimiter takes one byte, or \\t for a tab, not '%s'", value);
    f->delimiter = is_tab ? '\t' : (uint8_t)value[0];
    f->has_delimiter = true;
}

const char *fields_missing(uint32_t word)
{
    static const char *const words[] = {
        [FIELDS_ERROR] = "error", [FIELDS_SKIP] = "skip", [FIELDS_EMPTY] = "empty"
    };
    return word < sizeof(words) / sizeof(words[0]) ? words[word] : NULL;
}

static void check_json(struct fields *f, char end_byte, bool fixed)
{
    const char *other = f->count > 0       ? "--field"
                        : f->csv           ? "--csv"
                        : f->header        ? "--header"
                        : f->has_delimiter ? "--delimiter"
                        : fixed            ? "-x/--record-size"
                        : end_byte != '\n' ? "-0/--null"
                                           : NULL;
    if (other != NULL)
        cli_usage("a JSON path and %s are mutually exclusive", other);
    f->count = 1;
}

void fields_check(struct fields *f, char end_byte, bool fixed)
{
    if (f->json != NULL)
        check_json(f, end_byte, fixed);
    if (f->named && !f->header && !f->csv)
        cli_usage("--field with a name needs --header or --csv");
    f->header = f->header || f->named;
    if (fixed && (f->count > 0 || f->header))
        cli_usage("-x/--record-size and %s are mutually exclusive",
                  f->count > 0 ? "--field" : "--header");
    if (f->count == 0 && (f->has_delimiter || f->missing != 0 || f->csv))
        cli_usage("%s needs --field%s",
                  f->has_delimiter  ? "--delimiter"
                  : f->missing != 0 ? "--missing"
                                    : "--csv",
                  !f->has_delimiter && f->missing != 0 ? " or a JSON path" : "");
    if (f->csv && end_byte != '\n')
        cli_usage("-0/--null and --csv are mutually exclusive");
    if (!f->has_delimiter)
        f->delimiter = f->csv ? ',' : '\t';
    if (f->csv && (f->delimiter == '"' || f->delimiter == '\r'))
        cli_usage("--delimiter cannot be a quote or a carriage return with --csv");
    if (f->count > 0 && f->delimiter == (uint8_t)end_byte)
        cli_usage("--delimiter cannot be the end of a line");
    fields_prepare(f);
}

/* ----------------------------------------------------------------------------------- extraction */

/* Adds a delimiter to those to be found. Returns its index. */
static uint32_t want_delimiter(struct fields *f, uint32_t number)
{
    const uint32_t n = f->delimiters_count;
    if (n > 0 && f->delimiters[n - 1] == number)
        return n - 1;
    f->delimiters[n] = number;
    return f->delimiters_count++;
}

void fields_prepare(struct fields *f)
{
    f->pick = scan_picker();
    f->delimiters_count = 0;
    for (uint32_t i = 0; i < f->count; i++) {
        struct fields_step *step = &f->steps[i];
        if (step->number > 1)
            step->from = want_delimiter(f, step->number - 1);
        step->to = want_delimiter(f, step->number);
    }
}

/* Finds the fields, and stores them by their places in the key. */
static struct fault find_all(const struct fields *f, const uint8_t *at, const uint8_t *end,
                             const uint8_t *limit, struct bloomfile_key *found)
{
    const uint8_t *delimiters[2 * FIELDS_MOST];
    const size_t n =
        f->pick(at, end, limit, f->delimiter, f->delimiters, f->delimiters_count, delimiters);
    for (uint32_t i = 0; i < f->count; i++) {
        const struct fields_step *step = &f->steps[i];
        const bool is_first = step->number == 1;
        const uint8_t *start = is_first ? at : step->from < n ? delimiters[step->from] + 1 : end;
        const uint8_t *field_end = step->to < n ? delimiters[step->to] : end;
        if (!is_first && step->from >= n && f->missing != FIELDS_EMPTY)
            return (struct fault){ FAULT_NO_FIELD, step->number };
        found[step->place] = (struct bloomfile_key){ start, (size_t)(field_end - start) };
    }
    return (struct fault){ 0 };
}

static bool is_copied(const struct fields *f)
{
    return f->count > 1;
}

/* Most fields are short, and a copy of fixed size needs no function call. The bytes it writes after
 * the field are overwritten later, or are in the slack. */
static void copy(uint8_t *to, struct bloomfile_key field, const uint8_t *limit)
{
    const uint8_t *from = field.data;
    if (field.size <= SLACK && limit - from >= SLACK)
        memcpy(to, from, SLACK);
    else
        memcpy(to, from, field.size);
}

static struct fault join(const struct fields *f, const uint8_t *start, const uint8_t *end,
                         const uint8_t *limit, uint8_t **room, struct bloomfile_key *key)
{
    struct bloomfile_key found[FIELDS_MOST];
    uint8_t *to = *room;
    const struct fault fault = find_all(f, start, end, limit, found);
    if (fault.kind != FAULT_NONE)
        return fault;
    for (uint32_t i = 0; i < f->count; i++) {
        if (i > 0)
            *to++ = f->delimiter;
        copy(to, found[i], limit);
        to += found[i].size;
    }
    *key = (struct bloomfile_key){ *room, (size_t)(to - *room) };
    *room = to;
    return fault;
}

struct fault fields_find(const struct fields *f, const uint8_t *start, const uint8_t *end,
                         const uint8_t *limit, uint8_t **room, struct bloomfile_key *key)
{
    return is_copied(f) ? join(f, start, end, limit, room, key)
                        : find_all(f, start, end, limit, key);
}

uint64_t fields_room(const struct fields *f, uint64_t bytes, uint64_t records)
{
    if (f->csv) /* each byte may double, and each field may get two quotes and a delimiter */
        return 2 * bytes + 3 * records * f->count + SLACK;
    if (f->json != NULL)
        return bytes + SLACK;
    return is_copied(f) ? bytes + records * f->count + SLACK : 0;
}

static const char *what_of(const struct fields *f)
{
    return f->json != NULL ? "value" : "field";
}

void fields_tell_skipped(const struct fields *f, const char *path, uint64_t records)
{
    if (records > 0)
        cli_note(0, "%s%s%" PRIu64 " line%s without the %s %s left out", path != NULL ? path : "",
                 path != NULL ? ": " : "", records, cli_s(records), what_of(f),
                 records == 1 ? "was" : "were");
}

/* Names the field with the highest number: a record that lacks a field lacks this field too. */
void fields_tell_none(const struct fields *f, const char *path, bool keep_going)
{
    void (*const say)(int, const char *, ...) = keep_going ? cli_note : cli_fail;
    if (f->json != NULL)
        say(0, "no line of %s has a value at '%s'", path, f->json_text);
    else
        say(0, "no line of %s has field %" PRIu32 " (set the field delimiter: --delimiter C)", path,
            f->steps[f->count - 1].number);
}
