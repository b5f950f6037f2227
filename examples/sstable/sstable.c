/* SPDX-License-Identifier: MIT
 *
 * sstable - sorted tables with filters, as in a storage engine
 *
 * What decides is in other files: which filter may be believed (table_read.c), how one comes into
 * being with its table (table_write.c), and how a lookup uses them (tablet_get.c).
 */
#include "change.h"
#include "input.h"
#include "tablet.h"

#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    BATCH = 256
};

static const char HELP[] =
    "usage: sstable put DIR [FILE]       a new table of the lines \"key<TAB>value\" of FILE or of\n"
    "                                    standard input, in any order; of equal keys the last\n"
    "       sstable get DIR KEY...       print \"key<TAB>value\" of each key that is there\n"
    "       sstable delete DIR KEY...    a new table that hides these keys\n"
    "       sstable compact DIR          make one table of all\n"
    "       sstable list DIR             print tables, newest first: rows, bytes, filter\n"
    "\n"
    "A KEY that is - stands for the lines of standard input.\n"
    "\n"
    "  --embedded            put the filter into the table's file, not beside it\n"
    "  --compression NAME    none, snappy, zlib, lz4, lz4hc, zstd (the default)\n"
    "  --fpr RATE            the filter's false-positive rate, 0.01\n"
    "  --no-filters          get: use none\n"
    "  --stats               get: say on standard error how many tables were searched\n"
    "  --tables N            compact: the oldest N only\n"
    "  --newest              compact: with --tables, the newest N\n"
    "  --merge-filters       compact: unite filters instead of building one from the keys\n"
    "  --help\n"
    "\n"
    "Exit status: 0; get: 1 if no key was found; 2 after trouble.\n";

struct command_line {
    struct table_options table;
    struct compaction compaction;
    bool no_filters, stats;
    const char *directory;
    char **rest; /* ends with NULL */
};

static void say(void *context, const char *message)
{
    (void)context;
    warnx("%s", message);
}

static const struct reporter REPORTER = { say, NULL };

static _Noreturn void usage(const char *what, const char *which)
{
    errx(2, "%s%s (try 'sstable --help')", what, which);
}

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

static int put(const struct command_line *c)
{
    size_t count;
    if (c->rest[0] != NULL && c->rest[1] != NULL)
        usage("more than one file: ", c->rest[1]);
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
    const int error = tablet_put(c->directory, rows, keys.count, &c->table, &REPORTER);
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
    return tablet_compact(c->directory, &c->compaction, &c->table, &REPORTER) == 0 ? 0 : 2;
}

static int list(const struct command_line *c)
{
    struct tablet tablet;
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

/* ---- the command line */

static const struct option OPTIONS[] = {
    { "embedded", no_argument, NULL, 'e' },  { "compression", required_argument, NULL, 'c' },
    { "fpr", required_argument, NULL, 'p' }, { "no-filters", no_argument, NULL, 'n' },
    { "stats", no_argument, NULL, 's' },     { "tables", required_argument, NULL, 't' },
    { "newest", no_argument, NULL, 'N' },    { "merge-filters", no_argument, NULL, 'm' },
    { "help", no_argument, NULL, 'h' },      { 0 },
};

static _Noreturn void help(void)
{
    fputs(HELP, stdout);
    if (fclose(stdout) != 0)
        err(2, "cannot write to standard output");
    exit(0);
}

static double parse_rate(const char *text)
{
    char *end;
    const double rate = strtod(text, &end);
    if (*end != '\0' || !(rate > 0 && rate < 1))
        usage("a false-positive rate is above 0 and below 1, not ", text);
    return rate;
}

static size_t parse_tables(const char *text)
{
    char *end;
    const unsigned long number = strtoul(text, &end, 10);
    if (*text < '0' || *text > '9' || *end != '\0' || number == 0 || number > MANIFEST_TABLES)
        usage("a number of tables is from 1 to 1000, not ", text);
    return number;
}

static void take_option(struct command_line *c, int option)
{
    switch (option) {
    case 'e':
        c->table.embedded = true;
        break;
    case 'c':
        if (mtbl_compression_type_from_str(optarg, &c->table.compression) != mtbl_res_success)
            usage("unknown compression ", optarg);
        break;
    case 'p':
        c->table.fpr = parse_rate(optarg);
        break;
    case 'n':
        c->no_filters = true;
        break;
    case 's':
        c->stats = true;
        break;
    case 't':
        c->compaction.tables = parse_tables(optarg);
        break;
    case 'N':
        c->compaction.newest = true;
        break;
    case 'm':
        c->compaction.merge_filters = true;
        break;
    case 'h':
        help();
    default:
        exit(2); /* getopt_long() has said why */
    }
}

static const struct {
    const char *name;
    int (*run)(const struct command_line *);
} COMMANDS[] = {
    { "put", put }, { "get", get }, { "delete", delete }, { "compact", compact }, { "list", list }
};

static int run(const char *name, const struct command_line *c)
{
    for (size_t i = 0; i < sizeof COMMANDS / sizeof COMMANDS[0]; i++) {
        if (strcmp(name, COMMANDS[i].name) == 0)
            return COMMANDS[i].run(c);
    }
    usage("no command ", name);
}

int main(int argc, char **argv)
{
    struct command_line c = { .table = { .compression = MTBL_COMPRESSION_ZSTD, .fpr = 0.01 } };
    for (int option; (option = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1;)
        take_option(&c, option);
    if (argc - optind < 2)
        usage("a command and a directory are needed", "");
    c.directory = argv[optind + 1];
    c.rest = argv + optind + 2;
    const int status = run(argv[optind], &c);
    if (fclose(stdout) != 0)
        err(2, "cannot write to standard output");
    return status;
}
