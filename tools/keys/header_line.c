/* SPDX-License-Identifier: MIT
 * The header line of the inputs: a copy of the first input's, compared with the others. */
#include "keys/header_line.h"
#include "cli/cli.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

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
    return fields_find(fields, h->bytes, end, end, &room, key) == 0;
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
