/* SPDX-License-Identifier: MIT */
#include "commands.h"

#include <err.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define BATCH ((size_t)1 << 20) /* bytes of keys and values */

static void print_row(struct bytes key, struct bytes value)
{
    fwrite(key.data, 1, key.size, stdout);
    putchar('\t');
    fwrite(value.data, 1, value.size, stdout);
    putchar('\n');
}

/* ---- lines */

struct lines {
    FILE *file;
    const char *name;
    char *text; /* of the last line */
    size_t room;
};

/* false: there is none any more. */
static bool next_line(struct lines *l, struct bytes *line)
{
    const ssize_t size = getline(&l->text, &l->room, l->file);
    if (size == -1) {
        if (!feof(l->file))
            err(2, "cannot read %s", l->name);
        return false;
    }
    *line = (struct bytes){ l->text, (size_t)size };
    if (line->data[line->size - 1] == '\n')
        line->size--;
    return true;
}

typedef void line_call(void *context, struct bytes line);

static void each_line(struct lines l, line_call *call, void *context)
{
    struct bytes line;
    while (next_line(&l, &line))
        call(context, line);
    free(l.text);
}

static void each_key(char **arguments, line_call *call, void *context)
{
    if (strcmp(arguments[0], "-") == 0 && arguments[1] == NULL) {
        each_line((struct lines){ .file = stdin, .name = "standard input" }, call, context);
        return;
    }
    for (char **key = arguments; *key != NULL; key++)
        call(context, (struct bytes){ *key, strlen(*key) });
}

/* ---- changes */

struct changes {
    const struct database *database;
    leveldb_writebatch_t *batch;
    size_t bytes;
    uint64_t line;
    const char *source;
};

static struct changes changes_begin(const struct database *database, const char *source)
{
    return (struct changes){ database, leveldb_writebatch_create(), 0, 0, source };
}

static void changes_count(struct changes *c, size_t bytes)
{
    c->bytes += bytes;
    if (c->bytes >= BATCH) {
        database_write(c->database, c->batch);
        c->bytes = 0;
    }
}

static void changes_end(struct changes *c)
{
    database_write(c->database, c->batch);
    leveldb_writebatch_destroy(c->batch);
}

static void put_row(void *context, struct bytes line)
{
    struct changes *c = context;
    const char *tab = memchr(line.data, '\t', line.size);
    c->line++;
    if (tab == NULL) {
        database_write(c->database, c->batch);
        errx(2, "%s: line %" PRIu64 " has no tab between key and value; the rows before it are in",
             c->source, c->line);
    }
    const size_t key_size = (size_t)(tab - line.data);
    leveldb_writebatch_put(c->batch, line.data, key_size, tab + 1, line.size - key_size - 1);
    changes_count(c, line.size);
}

static void delete_row(void *context, struct bytes key)
{
    struct changes *c = context;
    leveldb_writebatch_delete(c->batch, key.data, key.size);
    changes_count(c, key.size);
}

int command_load(const struct request *r)
{
    const char *name = r->arguments[0] != NULL ? r->arguments[0] : "standard input";
    struct changes changes = changes_begin(r->database, name);
    each_line((struct lines){ .file = stdin, .name = name }, put_row, &changes);
    changes_end(&changes);
    return 0;
}

int command_delete(const struct request *r)
{
    struct changes changes = changes_begin(r->database, NULL);
    each_key(r->arguments, delete_row, &changes);
    changes_end(&changes);
    return 0;
}

int command_compact(const struct request *r)
{
    database_compact(r->database);
    return 0;
}

/* ---- looking */

struct lookups {
    const struct request *request;
    uint64_t keys, missing, without_filter;
};

static void print_dumped(void *context, struct bytes key, struct bytes value)
{
    (void)context;
    print_row(key, value);
}

int command_dump(const struct request *r)
{
    database_each(r->database, print_dumped, NULL);
    return 0;
}

static void get_row(void *context, struct bytes key)
{
    struct lookups *l = context;
    struct bytes value;
    char *found = database_get(l->request->database, key, &value.size);
    value.data = found;
    if (found != NULL)
        print_row(key, value);
    else
        l->missing++;
    leveldb_free(found);
}

int command_get(const struct request *r)
{
    struct lookups lookups = { .request = r };
    each_key(r->arguments, get_row, &lookups);
    return lookups.missing > 0;
}

/* After opening, all rows are in tables, so a key that no filter is asked for has none. */
static void check_row(void *context, struct bytes key, struct bytes value)
{
    struct lookups *l = context;
    const struct policy_counts *counts = l->request->counts;
    const uint64_t asked = counts != NULL ? counts->asked : 0;
    size_t size;
    char *found = database_get(l->request->database, key, &size);
    l->keys++;
    if (found == NULL || size != value.size || memcmp(found, value.data, size) != 0)
        l->missing++;
    if (counts != NULL && counts->asked == asked)
        l->without_filter++;
    leveldb_free(found);
}

int command_check(const struct request *r)
{
    struct lookups l = { .request = r };
    database_each(r->database, check_row, &l);
    printf("keys           %12" PRIu64 "\nlost           %12" PRIu64 "\n", l.keys, l.missing);
    if (r->counts != NULL)
        printf("without filter %12" PRIu64 "\n", l.without_filter);
    if (l.without_filter > 0)
        warnx("%s: tables have no filter of this policy, or a damaged one: they were read instead",
              r->database->path);
    return l.missing > 0;
}
