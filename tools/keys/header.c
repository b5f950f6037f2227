/* SPDX-License-Identifier: MIT
 * Header lines: comparison with the first header, and search for columns by name. */
#include "keys/header.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"
#include "keys/csv.h"

/* The size of a line without a carriage return that is to be ignored. */
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

/* ---- Finding columns by name. */

/* Sets *column to the next field of the header, and *at past its end. A quoted field is decoded
 * into *room. Returns false at the end, or if the header is malformed. */
static bool next_column(const struct fields *f, const uint8_t **at, const uint8_t *end,
                        uint8_t **room, struct bloomfile_key *column)
{
    if (*at > end)
        return false;
    if (f->csv)
        return csv_next(f, at, end, room, column);
    const uint8_t *start = *at, *found = memchr(start, f->delimiter, (size_t)(end - start));
    found = found != NULL ? found : end;
    *column = (struct bloomfile_key){ start, (size_t)(found - start) };
    *at = found + 1;
    return true;
}

/* Appends to a message, which is truncated if it is too long. */
__attribute__((format(printf, 2, 3))) static void append(char message[HEADER_LINE_MESSAGE],
                                                         const char *format, ...)
{
    const size_t size = strlen(message);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message + size, HEADER_LINE_MESSAGE - size, format, arguments);
    va_end(arguments);
}

enum {
    SHOWN = 200 /* maximum bytes of a name in a message */
};
#define COLUMNS_SHOWN 40 /* maximum number of names in a message */

static void append_name(char message[HEADER_LINE_MESSAGE], const void *bytes, size_t size)
{
    const char *quote = memchr(bytes, ',', size) != NULL ? "\"" : "";
    append(message, "%s%.*s%s%s", quote, (int)(size < SHOWN ? size : SHOWN), (const char *)bytes,
           size > SHOWN ? "..." : "", quote);
}

/* The numbers of the columns whose names are in --field. */
struct columns {
    uint32_t count, numbers[FIELDS_MOST];
    uint32_t twice; /* 1 + the index of a name that two columns have, or 0 */
    char list[HEADER_LINE_MESSAGE];
};

static void look_up(const struct fields *f, struct bloomfile_key column, struct columns *c)
{
    c->count++;
    for (uint32_t i = 0; i < f->count; i++) {
        const struct fields_name *name = &f->names[i];
        if (name->number > 0 || name->size != column.size ||
            memcmp(name->bytes, column.data, column.size) != 0)
            continue;
        if (c->numbers[i] > 0)
            c->twice = i + 1;
        c->numbers[i] = c->count;
    }
    if (c->count <= COLUMNS_SHOWN && strlen(c->list) < HEADER_LINE_MESSAGE / 4) {
        append(c->list, "%s", c->count > 1 ? ", " : "");
        append_name(c->list, column.data, column.size);
    } else if (c->count == COLUMNS_SHOWN + 1) {
        append(c->list, ", ...");
    }
}

static void find_columns(const struct fields *f, struct bloomfile_key header, struct columns *c)
{
    const uint8_t *at = header.data, *end = at + header.size;
    struct bloomfile_key column;
    uint8_t *unquoted = malloc(header.size + 1), *room = unquoted;
    if (unquoted == NULL)
        cli_fail(ENOMEM, "cannot hold a header");
    *c = (struct columns){ 0 };
    if (header.size >= 3 && memcmp(at, "\xEF\xBB\xBF", 3) == 0)
        at += 3; /* a byte order mark */
    while (next_column(f, &at, end, &room, &column))
        look_up(f, column, c);
    free(unquoted);
}

/* Inserts the column numbers as fields. Returns false if the name at *place has no column, or
 * shares the column of another name. */
static bool use_columns(struct fields *f, const struct columns *c, uint32_t *place)
{
    const uint32_t count = f->count;
    f->count = 0;
    for (*place = 0; *place < count; ++*place) {
        const struct fields_name *name = &f->names[*place];
        const uint32_t number = name->number > 0 ? name->number : c->numbers[*place];
        if (number == 0 || !fields_insert(f, number)) {
            f->count = count;
            return false;
        }
    }
    return true;
}

bool header_find_columns(struct fields *f, const char *path, struct bloomfile_key header, bool crlf,
                         char message[HEADER_LINE_MESSAGE])
{
    if (!f->named)
        return true;
    struct columns c;
    uint32_t place = 0;
    header.size = trimmed(header.data, header.size, crlf);
    find_columns(f, header, &c);
    if (c.twice == 0 && use_columns(f, &c, &place)) {
        f->named = false;
        fields_prepare(f);
        return true;
    }
    const struct fields_name *name = &f->names[c.twice > 0 ? c.twice - 1 : place];
    message[0] = '\0';
    const bool is_there = c.numbers[place] > 0 || name->number > 0;
    append(message, "%s has %s named ", path,
           c.twice > 0 ? "two columns"
           : is_there  ? "one column"
                       : "no column");
    append_name(message, name->bytes, name->size);
    if (c.twice > 0)
        append(message, " (use the number of one: --field N)");
    else if (is_there)
        append(message, ", and --field has it twice");
    else
        append(message, " (its columns: %s)", c.list);
    return false;
}

/* ---- The key of a header. */

/* Sets the key that the header would have as a record. Returns false if a field is missing. */
static bool take_key(const struct header_line *h, const struct fields *fields, bool crlf,
                     uint8_t *room, struct bloomfile_key *key)
{
    const uint8_t *at = h->bytes, *end = at + trimmed(h->bytes, h->size, crlf);
    const struct fault fault = fields->csv ? csv_find(fields, &at, end, &room, key)
                                           : fields_find(fields, at, end, end, &room, key);
    return fault.kind == FAULT_NONE;
}

bool header_line_has_same_key(const struct header_line *a, const struct header_line *b,
                              const struct fields *fields, bool crlf)
{
    if (a->bytes == NULL || b->bytes == NULL)
        return true;
    const uint64_t room = fields_room(fields, a->size, 1);
    struct bloomfile_key key, other;
    uint8_t *joined = fields_allocate(room + fields_room(fields, b->size, 1) + 1);
    if (joined == NULL)
        cli_fail(ENOMEM, "cannot compare headers");
    const bool known =
        take_key(a, fields, crlf, joined, &key) && take_key(b, fields, crlf, joined + room, &other);
    const bool same =
        !known || (key.size == other.size && memcmp(key.data, other.data, key.size) == 0);
    free(joined);
    return same;
}
