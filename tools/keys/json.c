/* SPDX-License-Identifier: MIT
 * Parsing of JSON paths, and stubs for a build without a JSON parser. */
#include "keys/json.h"

#include <errno.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include "cli/cli.h"

static uint64_t index_of(const char *name, size_t size)
{
    enum {
        DIGITS_MOST = 18
    };
    uint64_t index = 0;
    if (size == 0 || size > DIGITS_MOST || (size > 1 && name[0] == '0'))
        return JSON_NO_INDEX;
    for (size_t i = 0; i < size; i++) {
        if (name[i] < '0' || name[i] > '9')
            return JSON_NO_INDEX;
        index = index * 10 + (uint64_t)(name[i] - '0');
    }
    return index;
}

/* Decodes in place: ~0 is a tilde, ~1 a slash. Returns the new size. */
static size_t unescape(char *name, size_t size, const char *path)
{
    size_t made = 0;
    for (size_t i = 0; i < size; i++) {
        char byte = name[i];
        if (byte == '~') {
            i++;
            if (i == size || (name[i] != '0' && name[i] != '1'))
                cli_usage("%s: in a JSON Pointer, write ~0 for '~' and ~1 for '/'", path);
            byte = name[i] == '0' ? '~' : '/';
        }
        name[made++] = byte;
    }
    return made;
}

/* The steps point into the command line. */
static void parse_path(struct json_path *path, char *text)
{
    const bool is_pointer = text[0] == '/';
    const char separator = is_pointer ? '/' : '.';
    path->count = 0;
    if (strncmp(text, "--", 2) == 0)
        cli_usage("--json takes a PATH, not '%s': write /%s for a name that begins with --", text,
                  text);
    if (strncmp(text, "$.", 2) == 0)
        cli_usage("--json takes a PATH such as a.b, not '%s': leave out '$.', or write /$/a for a "
                  "name '$'",
                  text);
    for (char *at = text + is_pointer, *end;; at = end + 1) {
        end = strchrnul(at, separator);
        const bool is_last = *end == '\0';
        size_t size = (size_t)(end - at);
        if (!is_pointer && size == 0)
            cli_usage("a JSON path is names with dots between them, such as a.b, or a JSON Pointer "
                      "such as /a/b, not '%s'%s",
                      text, text[0] == '.' ? ": leave out the first dot" : "");
        if (path->count == JSON_STEPS)
            cli_usage("a JSON path has at most %d names", JSON_STEPS);
        size = is_pointer ? unescape(at, size, text) : size;
        path->steps[path->count++] = (struct json_step){ at, size, index_of(at, size) };
        if (is_last)
            return;
    }
}

#ifdef BLOOMFILE_JSON

void json_take_path(void *fields, char *value)
{
    static struct json_path path; /* one per program */
    static char *text;            /* parse_path() changes the value */
    struct fields *f = fields;
    free(text);
    text = strdup(value);
    if (text == NULL)
        cli_fail(ENOMEM, "cannot hold the JSON path");
    f->json_text = text;
    parse_path(&path, value);
    f->json = &path;
}

#else

void json_take_path(void *fields, char *value)
{
    struct json_path path;
    (void)fields;
    parse_path(&path, value);
    cli_usage("this build has no JSON (install libsimdjson-dev, and build with -Djson=enabled)");
}

struct json_parser *json_parser_new(void)
{
    return NULL;
}

struct fault json_find(struct json_parser *j, const struct fields *f, const uint8_t *start,
                       const uint8_t *end, uint8_t **room, struct bloomfile_key *key)
{
    (void)j;
    (void)f;
    (void)start;
    (void)end;
    (void)room;
    (void)key;
    return (struct fault){ .kind = FAULT_JSON };
}

void json_parser_free(struct json_parser *j)
{
    (void)j;
}

#endif
