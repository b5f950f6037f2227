/* SPDX-License-Identifier: MIT
 * Detecting a wrong field delimiter, by the usual delimiters of tables and the first byte of each
 * field. */
#include "keys/delimiter.h"

#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "cli/cli.h"
#include "keys/fields.h"

static bool has_another(const uint8_t *bytes, size_t size)
{
    static const char likely[] = { ' ', ',', ';', '|', '\t' };
    for (size_t i = 0; i < sizeof(likely); i++) {
        if (memchr(bytes, likely[i], size) != NULL)
            return true;
    }
    return false;
}

static const char *name_of(uint8_t delimiter, char quoted[4])
{
    switch (delimiter) {
    case '\t':
        return "tab";
    case ' ':
        return "blank";
    case ',':
        return "comma";
    case ';':
        return "semicolon";
    }
    if (delimiter < ' ' || delimiter > '~')
        return "delimiter";
    snprintf(quoted, 4, "'%c'", delimiter);
    return quoted;
}

/* Describes the use of lines without a delimiter. NULL: they are errors, or skipped and
 * counted at the end. */
static const char *becomes(const struct fields *f)
{
    if (f->count == 1 && f->steps[0].number == 1)
        return "each whole line is the key";
    return f->missing == FIELDS_EMPTY ? "all fields but the first are empty" : NULL;
}

static bool has_quoted(const struct fields *f, const uint8_t *line, const uint8_t *end)
{
    struct fields one = { .count = 1, .missing = FIELDS_EMPTY, .delimiter = f->delimiter };
    for (uint32_t i = 0; i < f->count; i++) {
        struct bloomfile_key key;
        uint8_t *no_room = NULL;
        one.steps[0].number = f->steps[i].number;
        fields_prepare(&one);
        fields_find(&one, line, end, end, &no_room, &key);
        if (key.size > 0 && *(const uint8_t *)key.data == '"')
            return true;
    }
    return false;
}

static bool any_is_quoted(const struct fields *f, const uint8_t *bytes, size_t size, char end_byte)
{
    const uint8_t *line = bytes, *end = bytes + size, *line_end;
    for (; line < end; line = line_end + 1) {
        line_end = memchr(line, end_byte, (size_t)(end - line));
        if (line_end == NULL)
            line_end = end;
        if (has_quoted(f, line, line_end))
            return true;
    }
    return false;
}

void delimiter_check_warn(const char *name, const struct keys_options *options,
                          const uint8_t *bytes, size_t size)
{
    const struct fields *f = &options->fields;
    const uint8_t *last = memrchr(bytes, keys_end(options), size);
    char quoted[4];
    if (f->count == 0 || f->json != NULL || f->named)
        return;
    if (last != NULL) /* the last line may be incomplete */
        size = (size_t)(last + 1 - bytes);
    if (becomes(f) != NULL && memchr(bytes, f->delimiter, size) == NULL && has_another(bytes, size))
        cli_warn("%s: no line has a %s, so %s (set the field delimiter: --delimiter C)", name,
                 name_of(f->delimiter, quoted), becomes(f));
    if (!f->csv && memchr(bytes, '"', size) != NULL &&
        any_is_quoted(f, bytes, size, keys_end(options)))
        cli_warn("%s: fields are quoted, and the quotes become part of the key (add --csv to strip "
                 "them)",
                 name);
}
