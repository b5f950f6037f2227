/* SPDX-License-Identifier: MIT
 * Fields of records, found by the delimiters around them; only keys of several fields are copied.
 */
#include "keys/fields.h"

#include <errno.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

enum {
    SLACK = 32 /* bytes of room beyond the last key */
};

/* ------------------------------------------------------------------------------------- options */

static _Noreturn void refuse_numbers(const char *value)
{
    cli_usage("--field takes the numbers of up to %d different fields such as 2 or 3,1, not '%s'",
              FIELDS_MOST, value);
}

/* Reads a number from 1 on, and sets *text behind it; 0: there is none. */
static uint32_t read_number(const char **text)
{
    uint64_t number = 0;
    for (; **text >= '0' && **text <= '9'; ++*text) {
        number = number * 10 + (uint64_t)(**text - '0');
        if (number > INT32_MAX)
            return 0;
    }
    return (uint32_t)number;
}

/* In order of their numbers. false: it is there already. */
static bool insert(struct fields *f, uint32_t number)
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

void fields_take_numbers(void *fields, char *value)
{
    struct fields *f = fields;
    const char *at = value;
    f->count = 0;
    for (;; at++) {
        const uint32_t number = read_number(&at);
        if (number == 0 || f->count == FIELDS_MOST || !insert(f, number))
            refuse_numbers(value);
        if (*at == '\0')
            return;
        if (*at != ',')
            refuse_numbers(value);
    }
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

/* Returns its place among those to be found. */
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

/* The fields, by their places in the key. */
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
    return f->count > 1 || f->closed;
}

/* Most fields are short, and a copy of fixed size is no call; what it writes beyond the field is
 * overwritten, or in the slack. */
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
    if (f->closed)
        *to++ = f->delimiter;
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

size_t fields_room(const struct fields *f, size_t bytes, size_t records)
{
    if (f->csv) /* a byte that becomes a quoted pair, two quotes around it and a delimiter */
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
        cli_warn(0, "%s%s%" PRIu64 " line%s without the %s %s left out", path != NULL ? path : "",
                 path != NULL ? ": " : "", records, cli_s(records), what_of(f),
                 records == 1 ? "was" : "were");
}

/* A record that lacks a field lacks the last one. */
void fields_tell_none(const struct fields *f, const char *path, bool keep_going)
{
    static const char says[] = "no line of %s has %s";
    char what[80] = "a value at the JSON path";
    if (f->json == NULL)
        snprintf(what, sizeof(what), "field %" PRIu32 " (set the field delimiter: --delimiter C)",
                 f->steps[f->count - 1].number);
    if (!keep_going)
        cli_fail(0, says, path, what);
    cli_warn(0, says, path, what);
}

/* ---- The header line of the inputs: a copy of the first input's, compared with the others. */

/* What is compared. */
static size_t trimmed(const uint8_t *bytes, size_t size, bool crlf)
{
    return size - (crlf && size > 0 && bytes[size - 1] == '\r');
}

static void keep(struct header_line *h, const char *path, const struct bloomfile_key *line)
{
    h->bytes = malloc(line->size + 1);
    if (h->bytes == NULL)
        cli_fail(ENOMEM, "cannot hold the header of %s", path);
    memcpy(h->bytes, line->data, line->size);
    h->size = line->size;
    h->path = path;
}

bool header_line_take(struct header_line *h, const char *path, struct bloomfile_key line, bool crlf,
                      char message[HEADER_LINE_MESSAGE])
{
    if (h->bytes == NULL)
        keep(h, path, &line);
    const size_t size = trimmed(line.data, line.size, crlf);
    if (size == trimmed(h->bytes, h->size, crlf) && memcmp(line.data, h->bytes, size) == 0)
        return true;
    snprintf(
        message, HEADER_LINE_MESSAGE,
        "%s has a different header than %s (--header needs the same columns in every input; to "
        "remove a header: tail -n +2 FILE)",
        path, h->path);
    return false;
}

/* The key that the header would be. false: it lacks a field. */
static bool take_key(const struct header_line *h, const struct fields *fields, bool crlf,
                     uint8_t *room, struct bloomfile_key *key)
{
    const uint8_t *end = h->bytes + trimmed(h->bytes, h->size, crlf);
    return fields_find(fields, h->bytes, end, end, &room, key).kind == FAULT_NONE;
}

bool header_line_has_same_key(const struct header_line *a, const struct header_line *b,
                              const struct fields *fields, bool crlf)
{
    if (a->bytes == NULL || b->bytes == NULL)
        return true;
    const size_t room = fields_room(fields, a->size, 1);
    struct bloomfile_key key, other;
    uint8_t *joined = malloc(room + fields_room(fields, b->size, 1) + 1);
    if (joined == NULL)
        cli_fail(ENOMEM, "cannot compare headers");
    const bool known =
        take_key(a, fields, crlf, joined, &key) && take_key(b, fields, crlf, joined + room, &other);
    const bool same =
        !known || (key.size == other.size && memcmp(key.data, other.data, key.size) == 0);
    free(joined);
    return same;
}
