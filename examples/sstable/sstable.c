/* SPDX-License-Identifier: MIT
 *
 * sstable - sorted tables with filters, as in a storage engine; filter.c is the part to copy
 */
#include "tablet.h"

#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

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
    "  --layout NAME         the filter's layout: blocked, or ribbon, which is a third smaller\n"
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

static _Noreturn void usage(const char *what, const char *which)
{
    errx(2, "%s%s (try 'sstable --help')", what, which);
}

/* ---- commands; each returns the exit status */

/* Of equal keys the last stays. */
static void drop_repeated(struct rows *rows)
{
    size_t kept = 0;
    for (size_t i = 0; i < rows->count; i++) {
        if (i + 1 < rows->count && key_compare(&rows->row[i].key, &rows->row[i + 1].key) == 0)
            free((void *)(uintptr_t)rows->row[i].key.data);
        else
            rows->row[kept++] = rows->row[i];
    }
    rows->count = kept;
}

static int put(const struct command_line *c)
{
    struct rows rows = rows_read(c->rest[0]);
    drop_repeated(&rows);
    tablet_put(c->directory, &rows, &c->table);
    rows_free(&rows);
    return 0;
}

static int delete (const struct command_line *c)
{
    struct rows keys = keys_read(c->rest);
    rows_sort(&keys);
    drop_repeated(&keys);
    tablet_delete(c->directory, &keys, &c->table);
    rows_free(&keys);
    return 0;
}

struct counts {
    size_t found;
    uint64_t searched;
};

static void get_batch(const struct tablet *t, const struct row *rows, size_t count,
                      struct answer *answers, struct counts *counts)
{
    struct bloomfile_key keys[TABLET_BATCH];
    for (size_t i = 0; i < count; i++)
        keys[i] = rows[i].key;
    if (count == 1)
        tablet_get(t, keys[0], answers);
    else
        tablet_get_many(t, keys, count, answers);
    tablet_confirm(t);
    for (size_t i = 0; i < count; i++) {
        counts->found += answers[i].found;
        counts->searched += answers[i].searched;
        if (answers[i].found)
            row_print(&(struct row){ keys[i], { answers[i].data, answers[i].size }, 0 });
    }
}

static int get(const struct command_line *c)
{
    struct tablet tablet;
    struct answer answers[TABLET_BATCH] = { 0 };
    struct counts counts = { 0 };
    struct rows keys = keys_read(c->rest);
    tablet_open(&tablet, c->directory, c->table.seed, c->no_filters ? TABLE_NO_FILTER : 0);
    for (size_t i = 0, count; i < keys.count; i += count) {
        count = keys.count - i < TABLET_BATCH ? keys.count - i : TABLET_BATCH;
        get_batch(&tablet, &keys.row[i], count, answers, &counts);
    }
    if (c->stats)
        fprintf(stderr, "%zu keys, %zu found, %" PRIu64 " searches in %zu tables\n", keys.count,
                counts.found, counts.searched, tablet.manifest.count);
    for (size_t i = 0; i < TABLET_BATCH; i++)
        free(answers[i].data);
    tablet_close(&tablet);
    rows_free(&keys);
    return counts.found == 0;
}

static int compact(const struct command_line *c)
{
    tablet_compact(c->directory, &c->compaction, &c->table);
    return 0;
}

static int list(const struct command_line *c)
{
    struct tablet tablet;
    tablet_open(&tablet, c->directory, c->table.seed, 0);
    for (size_t i = 0; i < tablet.manifest.count; i++) {
        const struct table *t = &tablet.tables[i];
        printf("%06" PRIu64 "  %10" PRIu64 " rows  %12" PRIu64 " bytes  %s filter, %s\n",
               tablet.manifest.tables[i], t->extent.rows, t->file_size,
               t->embedded ? "embedded" : "sidecar", filter_state_name(t->filter.state));
    }
    tablet_close(&tablet);
    return 0;
}

static const struct command {
    const char *name;
    int (*run)(const struct command_line *);
    bool takes_keys, takes_file;
} COMMANDS[] = { { .name = "put", .run = put, .takes_file = true },
                 { .name = "get", .run = get, .takes_keys = true },
                 { .name = "delete", .run = delete, .takes_keys = true },
                 { .name = "compact", .run = compact },
                 { .name = "list", .run = list } };

/* ---- the command line */

static const struct option OPTIONS[] = {
    { "embedded", no_argument, NULL, 'e' },
    { "compression", required_argument, NULL, 'c' },
    { "fpr", required_argument, NULL, 'p' },
    { "no-filters", no_argument, NULL, 'n' },
    { "stats", no_argument, NULL, 's' },
    { "tables", required_argument, NULL, 't' },
    { "newest", no_argument, NULL, 'N' },
    { "merge-filters", no_argument, NULL, 'm' },
    { "layout", required_argument, NULL, 'l' },
    { "help", no_argument, NULL, 'h' },
    { 0 },
};

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
        if (!parse_rate(optarg, &c->table.fpr))
            usage("a false-positive rate is above 0 and below 1, not ", optarg);
        break;
    case 'l':
        if (!parse_layout(optarg, &c->table.layout))
            usage("a layout is blocked or ribbon, not ", optarg);
        break;
    case 'n':
        c->no_filters = true;
        break;
    case 's':
        c->stats = true;
        break;
    case 't':
        if (!parse_number(optarg, 1, MANIFEST_TABLES, &c->compaction.tables))
            usage("a number of tables is from 1 to 1000, not ", optarg);
        break;
    case 'N':
        c->compaction.newest = true;
        break;
    case 'm':
        c->compaction.merge_filters = true;
        break;
    case 'h':
        fputs(HELP, stdout);
        finish_output();
        exit(0);
    default:
        exit(2); /* getopt_long() has said why */
    }
}

int main(int argc, char **argv)
{
    struct command_line c = { .table = { .compression = MTBL_COMPRESSION_ZSTD,
                                         .layout = BLOOMFILE_LAYOUT_BLOCKED,
                                         .fpr = 0.01 } };
    const struct command *command = COMMANDS;
    take_descriptors();
    for (int option; (option = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1;)
        take_option(&c, option);
    const int arguments = argc - optind - 2;
    if (arguments < 0)
        usage("a command and a directory are needed", "");
    const char *name = argv[optind];
    while (strcmp(name, command->name) != 0)
        if (++command == COMMANDS + sizeof COMMANDS / sizeof COMMANDS[0])
            usage("no command ", name);
    if (command->takes_keys ? arguments == 0 : arguments > command->takes_file)
        usage("too many arguments, or no key, for ", name);
    c.directory = argv[optind + 1];
    c.rest = argv + optind + 2;
    const int status = command->run(&c);
    finish_output();
    return status;
}
