/* SPDX-License-Identifier: MIT
 * Keys split at line ends and delimiters, without copying. */
#include "keys/split.h"

#include <inttypes.h>
#include <string.h>

#include "cli/cli.h"
#include "keys/csv.h"
#include "keys/scan.h"

static struct bloomfile_key key_between(const uint8_t *start, const uint8_t *end, bool crlf)
{
    if (crlf && end > start && end[-1] == '\r')
        end--;
    return (struct bloomfile_key){ start, (size_t)(end - start) };
}

/* As far as whole blocks go; the rest is the caller's. */
static size_t split_blocks(struct split *s, struct bloomfile_key *keys, size_t max, bool crlf)
{
    const size_t n = scan_finder()(s->at, s->end, s->end_byte, keys, max);
    const uint8_t *at = s->at;
    for (size_t i = 0; i < n; i++) {
        const uint8_t *found = keys[i].data;
        keys[i] = key_between(at, found, crlf);
        at = found + 1;
    }
    s->at = at;
    return n;
}

static size_t split_text(struct split *s, struct bloomfile_key *keys, size_t max, bool crlf)
{
    size_t n = split_blocks(s, keys, max, crlf);
    while (n < max && s->at < s->end) {
        const uint8_t *found = memchr(s->at, s->end_byte, (size_t)(s->end - s->at));
        keys[n++] = key_between(s->at, found != NULL ? found : s->end, crlf);
        s->at = found != NULL ? found + 1 : s->end;
    }
    return n;
}

static size_t split_records(struct split *s, struct bloomfile_key *keys, size_t max)
{
    size_t n = 0;
    for (; n < max && s->at < s->end; n++) {
        keys[n] = (struct bloomfile_key){ s->at, s->record_size };
        s->at += s->record_size;
    }
    return n;
}

/* Puts the keys of records in their place. Returns how many have one; with s->missing_field, of
 * those before it. */
static size_t take_fields(struct split *s, struct bloomfile_key *keys, struct bloomfile_key *lines,
                          size_t records)
{
    size_t n = 0;
    for (size_t i = 0; i < records; i++, s->line++) {
        const uint8_t *start = keys[i].data, *end = start + keys[i].size;
        const uint8_t *next = end < s->end ? end + 1 : end;
        const struct bloomfile_key whole = key_between(start, end, s->crlf);
        const uint32_t missing_field =
            fields_find(s->fields, start, start + whole.size, s->end, &s->room, &keys[n]);
        if (missing_field != 0 && s->fields->missing == FIELDS_SKIP) {
            s->skipped++;
            continue;
        }
        if (missing_field != 0) {
            s->missing_field = missing_field;
            return n;
        }
        if (lines != NULL)
            lines[n] = (struct bloomfile_key){ start, (size_t)(next - start) };
        n++;
    }
    return n;
}

static size_t split_csv(struct split *s, struct bloomfile_key *keys, struct bloomfile_key *lines,
                        size_t max)
{
    size_t n = 0;
    while (n < max && s->at < s->end && s->missing_field == 0) {
        const uint8_t *start = s->at, *at = start;
        const uint32_t missing_field = csv_find(s->fields, &at, s->end, &s->room, &keys[n]);
        s->at = at < s->end ? at + 1 : at;
        if (missing_field == 0 && lines != NULL)
            lines[n] = (struct bloomfile_key){ start, (size_t)(s->at - start) };
        if (missing_field == 0) {
            n++;
        } else if (missing_field != FIELDS_MALFORMED && s->fields->missing == FIELDS_SKIP) {
            s->skipped++;
        } else {
            s->missing_field = missing_field;
            s->line += split_count(s, s->first, (size_t)(start - s->first));
        }
    }
    return n;
}

size_t split_next_lines(struct split *s, struct bloomfile_key *keys, struct bloomfile_key *lines,
                        size_t max)
{
    if (s->fields->csv)
        return split_csv(s, keys, lines, max);
    size_t n = 0, records = 1;
    while (n == 0 && records > 0 && s->missing_field == 0) {
        records = split_text(s, keys, max, false);
        n = take_fields(s, keys, lines, records);
    }
    return n;
}

void split_lower(uint8_t *bytes, size_t size)
{
    for (size_t i = 0; i < size; i++)
        bytes[i] |= bytes[i] >= 'A' && bytes[i] <= 'Z' ? 'a' - 'A' : 0;
}

size_t split_next(struct split *s, struct bloomfile_key *keys, size_t max)
{
    const size_t n = split_has_fields(s)  ? split_next_lines(s, keys, NULL, max)
                     : s->record_size > 0 ? split_records(s, keys, max)
                                          : split_text(s, keys, max, s->crlf);
    for (size_t i = 0; i < n && s->lower; i++)
        split_lower((uint8_t *)(uintptr_t)keys[i].data, keys[i].size); /* of the caller's piece */
    return n;
}

/* In steps whose counts fit into a byte, so that compilers count many bytes at once. */
size_t split_count(const struct split *s, const uint8_t *bytes, size_t size)
{
    enum {
        STEP = 128
    };
    size_t n = 0, i = 0;
    for (; size - i >= STEP; i += STEP) {
        uint8_t some = 0;
        for (size_t j = 0; j < STEP; j++)
            some = (uint8_t)(some + (bytes[i + j] == s->end_byte));
        n += some;
    }
    for (; i < size; i++)
        n += bytes[i] == s->end_byte;
    return n;
}

size_t split_whole(const struct split *s, const uint8_t *bytes, size_t size, size_t seen)
{
    if (s->record_size > 0)
        return size - size % s->record_size;
    const uint8_t *last = memrchr(bytes + seen, s->end_byte, size - seen);
    return last != NULL ? (size_t)(last + 1 - bytes) : 0;
}

/* ---- Errors of records that lack a field, with the number of the line and the remedy. */

#define QUOTES_REMEDY                                                                              \
    " (write a quote inside quotes twice; without --csv, quotes are ordinary bytes)"

void missing_fields_describe(const struct split *split, char text[MISSING_FIELDS_SIZE])
{
    if (split->missing_field == FIELDS_MALFORMED)
        snprintf(text, MISSING_FIELDS_SIZE,
                 "in the record that begins at line %" PRIu64
                 ", a closing quote is not followed by a delimiter" QUOTES_REMEDY,
                 split->line);
    else
        snprintf(text, MISSING_FIELDS_SIZE,
                 "line %" PRIu64 " has no field %" PRIu32
                 " (skip such lines: --missing skip; use an empty field: --missing empty; set the "
                 "field delimiter: --delimiter C)",
                 split->line, split->missing_field);
}

void missing_fields_quote(uint64_t line, char text[MISSING_FIELDS_SIZE])
{
    snprintf(text, MISSING_FIELDS_SIZE,
             "the quote that opens a field in line %" PRIu64 " is never closed" QUOTES_REMEDY,
             line);
}

void missing_fields_check(const struct split *split, const char *path)
{
    char text[MISSING_FIELDS_SIZE];
    if (split->missing_field == 0)
        return;
    missing_fields_describe(split, text);
    cli_fail(0, "%s: %s", path, text);
}
