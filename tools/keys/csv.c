/* SPDX-License-Identifier: MIT
 * CSV records, split from quote to quote. Records without quotes are split like other lines. */
#include "keys/csv.h"

#include <string.h>

/* -------------------------------------------------------------------------- complete records */

static enum csv_state behind(uint8_t byte, uint8_t delimiter)
{
    return byte == delimiter || byte == '\n' ? CSV_BEGIN : CSV_PLAIN;
}

/* Reads unquoted bytes up to the next quote, or the end. Sets *at past that quote, and *whole past
 * the last newline. */
static enum csv_state pass_plain(enum csv_state state, uint8_t delimiter, const uint8_t **at,
                                 const uint8_t *end, const uint8_t **whole)
{
    const uint8_t *from = *at;
    const uint8_t *quote = memchr(from, '"', (size_t)(end - from));
    const uint8_t *to = quote != NULL ? quote : end;
    if (to > from) {
        const uint8_t *last = memrchr(from, '\n', (size_t)(to - from));
        *whole = last != NULL ? last + 1 : *whole;
        state = behind(to[-1], delimiter);
    }
    *at = quote != NULL ? quote + 1 : end;
    return quote == NULL ? state : state == CSV_BEGIN ? CSV_QUOTED : CSV_PLAIN;
}

size_t csv_whole(enum csv_state *state, uint8_t delimiter, const uint8_t *bytes, size_t size)
{
    const uint8_t *at = bytes, *end = bytes + size, *whole = bytes;
    while (at < end) {
        if (*state == CSV_QUOTED) {
            const uint8_t *quote = memchr(at, '"', (size_t)(end - at));
            at = quote != NULL ? quote + 1 : end;
            *state = quote != NULL ? CSV_QUOTE : CSV_QUOTED;
        } else if (*state == CSV_QUOTE && *at == '"') {
            at++;
            *state = CSV_QUOTED;
        } else {
            *state = *state == CSV_QUOTE ? CSV_PLAIN : *state;
            *state = pass_plain(*state, delimiter, &at, end, &whole);
        }
    }
    return (size_t)(whole - bytes);
}

size_t csv_first(uint8_t delimiter, const uint8_t *bytes, size_t size)
{
    enum csv_state state = CSV_BEGIN;
    const uint8_t *found;
    for (size_t from = 0, to;; from = to) {
        found = memchr(bytes + from, '\n', size - from);
        to = found != NULL ? (size_t)(found + 1 - bytes) : size;
        if (found == NULL || csv_whole(&state, delimiter, bytes + from, to - from) > 0)
            return to;
    }
}

uint64_t csv_lines_to_open(uint8_t delimiter, const uint8_t *bytes, size_t size)
{
    enum csv_state state = CSV_BEGIN;
    uint64_t lines = 0, opened = 0;
    for (size_t i = 0; i < size; i++) {
        const enum csv_state before = state;
        (void)csv_whole(&state, delimiter, bytes + i, 1);
        if (before == CSV_BEGIN && state == CSV_QUOTED)
            opened = lines;
        lines += bytes[i] == '\n';
    }
    return opened;
}

/* --------------------------------------------------------------------------------------- fields */

/* A field as written in the record, with its quotes. */
struct piece {
    const uint8_t *start, *end;
};

/* Sets *next to the end of the field: a delimiter, a newline or `end`. Returns false if the field
 * ends in another way. */
static bool take_quoted(const struct fields *f, const uint8_t *at, const uint8_t *end,
                        struct piece *piece, const uint8_t **next)
{
    piece->start = at++;
    for (;; at += 2) {
        at = memchr(at, '"', (size_t)(end - at));
        if (at == NULL)
            return false;
        if (at + 1 == end || at[1] != '"')
            break;
    }
    piece->end = ++at;
    if (end - at >= 2 && at[0] == '\r' && at[1] == '\n')
        at++;
    else if (end - at == 1 && at[0] == '\r')
        at++;
    *next = at;
    return at == end || *at == '\n' || *at == f->delimiter;
}

static void take_plain(const struct fields *f, const uint8_t *at, const uint8_t *end,
                       struct piece *piece, const uint8_t **next)
{
    const uint8_t *line_end = memchr(at, '\n', (size_t)(end - at));
    if (line_end == NULL)
        line_end = end;
    const uint8_t *found = memchr(at, f->delimiter, (size_t)(line_end - at));
    *next = found != NULL ? found : line_end;
    const bool cr = found == NULL && line_end > at && line_end[-1] == '\r';
    *piece = (struct piece){ at, *next - cr };
}

static bool take_piece(const struct fields *f, const uint8_t *at, const uint8_t *end,
                       struct piece *piece, const uint8_t **next)
{
    if (at < end && *at == '"')
        return take_quoted(f, at, end, piece, next);
    take_plain(f, at, end, piece, next);
    return true;
}

static bool is_quoted(const struct piece *p)
{
    return p->end > p->start && *p->start == '"';
}

/* Writes the field without its outer quotes, and each quote inside it `times` times.
 * Returns the end. */
static uint8_t *write_value(const struct piece *p, unsigned times, uint8_t *to)
{
    const bool quoted = is_quoted(p);
    const uint8_t *at = p->start + quoted, *end = p->end - quoted;
    while (at < end) {
        const uint8_t *quote = memchr(at, '"', (size_t)(end - at));
        const size_t size = (size_t)((quote != NULL ? quote : end) - at);
        memcpy(to, at, size);
        to += size;
        at += size;
        for (unsigned i = 0; quote != NULL && i < times; i++)
            *to++ = '"';
        at += quote == NULL ? 0 : quoted ? 2 : 1;
    }
    return to;
}

bool csv_next(const struct fields *f, const uint8_t **at, const uint8_t *end, uint8_t **room,
              struct bloomfile_key *field)
{
    struct piece piece;
    const uint8_t *next, *start = *room;
    if (!take_piece(f, *at, end, &piece, &next))
        return false;
    *room = write_value(&piece, 1, *room);
    *field = (struct bloomfile_key){ start, (size_t)(*room - start) };
    *at = next + 1;
    return true;
}

static bool holds(const struct piece *p, int byte)
{
    const bool quoted = is_quoted(p);
    const size_t size = (size_t)(p->end - p->start) - 2 * quoted;
    return memchr(p->start + quoted, byte, size) != NULL;
}

/* Quotes a field if it needs quotes, whether or not the record quotes it. */
static uint8_t *write_field(const struct fields *f, const struct piece *p, uint8_t *to)
{
    const bool quotes = holds(p, f->delimiter) || holds(p, '"') || holds(p, '\n') || holds(p, '\r');
    if (quotes)
        *to++ = '"';
    to = write_value(p, quotes ? 2 : 1, to);
    if (quotes)
        *to++ = '"';
    return to;
}

static void make_key(const struct fields *f, const struct piece *found, uint8_t **room,
                     struct bloomfile_key *key)
{
    uint8_t *to = *room;
    if (f->count == 1)
        to = write_value(&found[0], 1, to);
    for (uint32_t i = 0; i < f->count && f->count > 1; i++) {
        if (i > 0)
            *to++ = f->delimiter;
        to = write_field(f, &found[i], to);
    }
    *key = (struct bloomfile_key){ *room, (size_t)(to - *room) };
    *room = to;
}

static struct fault find_in_quotes(const struct fields *f, const uint8_t **at, const uint8_t *end,
                                   uint8_t **room, struct bloomfile_key *key)
{
    struct piece found[FIELDS_MOST], piece;
    uint32_t done = 0, number = 1;
    const uint8_t *next = *at;
    for (;; number++, next++) {
        if (!take_piece(f, next, end, &piece, &next))
            return (struct fault){ .kind = FAULT_QUOTE };
        if (done < f->count && f->steps[done].number == number)
            found[f->steps[done++].place] = piece;
        if (next == end || *next == '\n')
            break;
    }
    *at = next;
    if (done < f->count && f->missing != FIELDS_EMPTY)
        return (struct fault){ FAULT_NO_FIELD, f->steps[done].number };
    for (; done < f->count; done++)
        found[f->steps[done].place] = (struct piece){ next, next };
    make_key(f, found, room, key);
    return (struct fault){ 0 };
}

struct fault csv_find(const struct fields *f, const uint8_t **at, const uint8_t *end,
                      uint8_t **room, struct bloomfile_key *key)
{
    const uint8_t *start = *at, *line_end = memchr(start, '\n', (size_t)(end - start));
    if (line_end == NULL)
        line_end = end;
    if (memchr(start, '"', (size_t)(line_end - start)) != NULL ||
        (f->count > 1 && memchr(start, '\r', (size_t)(line_end - start)) != NULL))
        return find_in_quotes(f, at, end, room, key);
    *at = line_end;
    const bool cr = line_end > start && line_end[-1] == '\r';
    return fields_find(f, start, line_end - cr, end, room, key);
}
