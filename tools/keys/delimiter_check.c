/* SPDX-License-Identifier: MIT
 * Detection of a wrong field delimiter, by the bytes that tables have between columns and the first
 * byte of each field. */
#include "keys/delimiter_check.h"
#include "cli/cli.h"

#include <stdio.h>
#include <string.h>

static bool has(const uint8_t *bytes, size_t size, int byte)
{
    return memchr(bytes, byte, size) != NULL;
}

static bool has_another(const uint8_t *bytes, size_t size)
{
    static const char likely[] = { ' ', ',', ';', '|', '\t' };
    for (size_t i = 0; i < sizeof(likely); i++) {
        if (has(bytes, size, likely[i]))
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

/* What lines without a delimiter are. NULL: an error, or left out, which is told at the end. */
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
    if (f->count == 0)
        return;
    if (last != NULL) /* what follows may be the beginning of a line */
        size = (size_t)(last + 1 - bytes);
    if (becomes(f) != NULL && !has(bytes, size, f->delimiter) && has_another(bytes, size))
        cli_warn(0, "%s: no line has a %s, so %s (set the field delimiter: --delimiter C)", name,
                 name_of(f->delimiter, quoted), becomes(f));
    if (!f->csv && has(bytes, size, '"') && any_is_quoted(f, bytes, size, keys_end(options)))
        cli_warn(0, "%s: fields are quoted, and the quotes become part of the key (%s)", name,
                 options->no_csv ? "bfcommon cannot read CSV" : "add --csv to strip them");
}
