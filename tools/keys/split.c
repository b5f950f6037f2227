/* SPDX-License-Identifier: MIT
 * Splitting a buffer into keys at line ends and delimiters, without copying. */
#include "keys/split.h"

#include <string.h>

#include "cli/cli.h"
#include "keys/csv.h"
#include "keys/json.h"
#include "keys/scan.h"

static struct bloomfile_key key_between(const uint8_t *start, const uint8_t *end, bool crlf)
{
    if (crlf && end > start && end[-1] == '\r')
        end--;
    return (struct bloomfile_key){ start, (size_t)(end - start) };
}

/* Splits the part that consists of whole blocks. The caller splits the rest. */
static size_t split_blocks(struct split *s, struct bloomfile_key *keys, size_t max, bool crlf)
{
    const size_t n = scan_finder()(s->at, s->end, s->end_byte, keys, max);
    if (n > 0)
        s->at = (const uint8_t *)keys[n - 1].data + keys[n - 1].size + 1;
    for (size_t i = 0; crlf && i < n; i++) {
        const uint8_t *start = keys[i].data;
        keys[i] = key_between(start, start + keys[i].size, true);
    }
    return n;
}

static size_t split_text(struct split *s, struct bloomfile_key *keys, size_t max, bool crlf)
{
    if (s->whole && s->at < s->end) {
        keys[0] = key_between(s->at, s->end - 1, crlf);
        s->at = s->end;
        return 1;
    }
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

/* Handles the fault of the record that begins at `start`. */
static void take_fault(struct split *s, struct fault fault, const uint8_t *start,
                       struct bloomfile_key key)
{
    if (fault.kind == FAULT_BLANK)
        return;
    if (fault_is_missing(fault) && s->fields->missing == FIELDS_SKIP) {
        s->skipped++;
        return;
    }
    s->fault = fault;
    s->broken = key;
    s->line += split_count(s, s->first, (size_t)(start - s->first));
}

static struct fault find_key(struct split *s, const uint8_t *start, const uint8_t *end,
                             struct bloomfile_key *key)
{
    *key = key_between(start, end, s->crlf);
    if (!split_has_fields(s))
        return (struct fault){ 0 };
    if (s->fields->json != NULL)
        return json_find(s->json, s->fields, start, end, &s->room, key);
    return fields_find(s->fields, start, start + key->size, s->end, &s->room, key);
}

/* `fault` is the result of the search for the key in the record [start, next). Returns whether
 * there is a key. */
static bool take_key(struct split *s, struct fault fault, const uint8_t *start, const uint8_t *next,
                     struct bloomfile_key *key, struct bloomfile_key *line)
{
    if (fault.kind == FAULT_NONE && s->form != NULL)
        fault = key_form_apply(s->form, &s->room, key);
    if (fault.kind != FAULT_NONE) {
        take_fault(s, fault, start, *key);
        return false;
    }
    if (line != NULL)
        *line = (struct bloomfile_key){ start, (size_t)(next - start) };
    return true;
}

/* Replaces records by their keys, up to a fault. Returns the number of keys. */
static size_t take_records(struct split *s, struct bloomfile_key *keys, struct bloomfile_key *lines,
                           size_t records)
{
    size_t n = 0;
    for (size_t i = 0; i < records && !split_is_broken(s); i++) {
        const uint8_t *start = keys[i].data, *end = start + keys[i].size;
        const uint8_t *next = s->record_size == 0 && end < s->end ? end + 1 : end;
        const struct fault fault = find_key(s, start, end, &keys[n]);
        n += take_key(s, fault, start, next, &keys[n], lines != NULL ? &lines[n] : NULL);
    }
    return n;
}

static size_t split_csv(struct split *s, struct bloomfile_key *keys, struct bloomfile_key *lines,
                        size_t max)
{
    size_t n = 0;
    while (n < max && s->at < s->end && !split_is_broken(s)) {
        const uint8_t *start = s->at, *at = start;
        const struct fault fault = csv_find(s->fields, &at, s->end, &s->room, &keys[n]);
        s->at = at < s->end ? at + 1 : at;
        n += take_key(s, fault, start, s->at, &keys[n], lines != NULL ? &lines[n] : NULL);
    }
    return n;
}

size_t split_next_lines(struct split *s, struct bloomfile_key *keys, struct bloomfile_key *lines,
                        size_t max)
{
    if (split_has_fields(s) && s->fields->csv)
        return split_csv(s, keys, lines, max);
    size_t n = 0, records = 1;
    while (n == 0 && records > 0 && !split_is_broken(s)) {
        records =
            s->record_size > 0 ? split_records(s, keys, max) : split_text(s, keys, max, false);
        n = take_records(s, keys, lines, records);
    }
    return n;
}

size_t split_next(struct split *s, struct bloomfile_key *keys, size_t max)
{
    return split_makes_keys(s)  ? split_next_lines(s, keys, NULL, max)
           : s->record_size > 0 ? split_records(s, keys, max)
                                : split_text(s, keys, max, s->crlf);
}

/* Counts in steps whose counts fit into a byte, so that compilers vectorize the inner loop. */
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

char *split_describe(const struct split *s, const char *input)
{
    const bool is_json = split_has_fields(s) && s->fields->json != NULL;
    const struct fault_place at = { .input = input,
                                    .line = s->line,
                                    .key = s->broken,
                                    .json = is_json ? s->fields->json_text : NULL,
                                    .strips_cr = s->end_byte == '\n' && !s->crlf && !is_json };
    return fault_describe(s->fault, &at);
}

void split_check(const struct split *s, const char *input)
{
    if (split_is_broken(s))
        cli_fail(0, "%s", split_describe(s, input));
}
