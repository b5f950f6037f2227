/* SPDX-License-Identifier: MIT */
#include "commands.h"
#include "input.h"
#include "tablet.h"

#include <err.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 256
};

static void say(void *context, const char *message)
{
    (void)context;
    warnx("%s", message);
}

static const struct reporter REPORTER = { say, NULL };

/* ---- keys on the command line, or on standard input */

struct keys {
    struct lines input;
    struct bytes *keys;
    size_t count;
};

static void keys_add(struct keys *k, const struct bytes *keys, size_t count)
{
    struct bytes *more = reallocarray(k->keys, k->count + count + 1, sizeof *more);
    if (more == NULL)
        err(2, "cannot keep the keys in memory");
    if (count > 0)
        memcpy(more + k->count, keys, count * sizeof *more);
    k->keys = more;
    k->count += count;
}

static struct keys keys_read(char *const *arguments)
{
    struct keys k = { 0 };
    if (*arguments == NULL)
        usage("no key is given", "");
    for (; *arguments != NULL; arguments++) {
        const struct bytes key = { (const uint8_t *)*arguments, strlen(*arguments) };
        if (strcmp(*arguments, "-") != 0) {
            keys_add(&k, &key, 1);
        } else if (k.input.text == NULL) {
            k.input = lines_read(NULL);
            keys_add(&k, k.input.lines, k.input.count);
        }
    }
    return k;
}

static void keys_free(struct keys *k)
{
    lines_free(&k->input);
    free(k->keys);
}

/* ---- commands */

static void check_last(char *const *arguments)
{
    if (*arguments != NULL)
        usage("one argument too many: ", *arguments);
}

static int put(const struct command_line *c)
{
    size_t count;
    if (c->rest[0] != NULL)
        check_last(c->rest + 1);
    struct lines input = lines_read(c->rest[0]);
    struct row *rows = rows_from_lines(&input, &count);
    const int error = tablet_put(c->directory, rows, count, &c->table, &REPORTER);
    free(rows);
    lines_free(&input);
    return error == 0 ? 0 : 2;
}

static int delete (const struct command_line *c)
{
    struct keys keys = keys_read(c->rest);
    struct row *rows = deletions_of(keys.keys, &keys.count);
    const int error = tablet_delete(c->directory, rows, keys.count, &c->table, &REPORTER);
    free(rows);
    keys_free(&keys);
    return error == 0 ? 0 : 2;
}

static void print_row(struct bytes key, const struct answer *answer)
{
    fwrite(key.data, 1, key.size, stdout);
    putchar('\t');
    fwrite(answer->data, 1, answer->size, stdout);
    putchar('\n');
}

struct counts {
    size_t found;
    uint64_t searched;
};

static int get_batch(const struct tablet *t, const struct bytes *keys, size_t count,
                     struct answer *answers, struct counts *counts)
{
    const int error =
        count == 1 ? tablet_get(t, keys[0], answers) : tablet_get_many(t, keys, count, answers);
    for (size_t i = 0; i < count && error == 0; i++) {
        counts->found += answers[i].found;
        counts->searched += answers[i].searched;
        if (answers[i].found)
            print_row(keys[i], &answers[i]);
    }
    return error;
}

static int get_keys(const struct tablet *t, const struct keys *keys, struct counts *counts)
{
    struct answer answers[BATCH] = { 0 };
    int error = 0;
    for (size_t i = 0, count; i < keys->count && error == 0; i += count) {
        count = keys->count - i < BATCH ? keys->count - i : BATCH;
        error = get_batch(t, keys->keys + i, count, answers, counts);
    }
    for (size_t i = 0; i < BATCH; i++)
        free(answers[i].data);
    return error;
}

static int get(const struct command_line *c)
{
    struct tablet tablet;
    struct counts counts = { 0 };
    struct keys keys = keys_read(c->rest);
    int error = tablet_open(&tablet, c->directory, c->table.seed,
                            c->no_filters ? TABLE_NO_FILTER : 0, &REPORTER);
    if (error == 0) {
        error = get_keys(&tablet, &keys, &counts);
        if (c->stats)
            fprintf(stderr, "%zu keys, %zu found, %" PRIu64 " searches in %zu tables\n", keys.count,
                    counts.found, counts.searched, tablet.manifest.count);
        tablet_close(&tablet);
    }
    keys_free(&keys);
    return error != 0 ? 2 : counts.found == 0;
}

static int compact(const struct command_line *c)
{
    check_last(c->rest);
    return tablet_compact(c->directory, &c->compaction, &c->table, &REPORTER) == 0 ? 0 : 2;
}

static int list(const struct command_line *c)
{
    struct tablet tablet;
    check_last(c->rest);
    if (tablet_open(&tablet, c->directory, c->table.seed, 0, &REPORTER) != 0)
        return 2;
    for (size_t i = 0; i < tablet.manifest.count; i++) {
        const struct table *t = &tablet.tables[i];
        printf("%06" PRIu64 "  %10" PRIu64 " rows  %12" PRIu64 " bytes  %s filter, %s\n",
               tablet.manifest.tables[i], t->extent.rows, t->file_size,
               t->embedded ? "embedded" : "sidecar", filter_state_name(t->filter_state));
    }
    tablet_close(&tablet);
    return 0;
}

/* ---- all of them */

static const struct {
    const char *name;
    int (*run)(const struct command_line *);
} COMMANDS[] = {
    { "put", put }, { "get", get }, { "delete", delete }, { "compact", compact }, { "list", list }
};

int command_run(const char *name, const struct command_line *c)
{
    for (size_t i = 0; i < sizeof COMMANDS / sizeof COMMANDS[0]; i++) {
        if (strcmp(name, COMMANDS[i].name) == 0)
            return COMMANDS[i].run(c);
    }
    usage("no command ", name);
}
