/* SPDX-License-Identifier: MIT
 *
 * levelfilter - a LevelDB database with filters of bloomfile
 *
 * The part to copy is policy.c, and from database.c how a database is opened with it.
 */
#include "database.h"
#include "policy.h"

#include <err.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CACHE ((size_t)8 << 20)
#define BATCH ((size_t)1 << 20) /* bytes of keys and values */

static const char usage[] =
    "usage: levelfilter [OPTIONS] COMMAND DB [ARGUMENTS]\n"
    "  load DB [FILE]      put in rows, lines of key TAB value (default: standard input);\n"
    "                      makes DB if it is not there\n"
    "  dump DB             print all rows\n"
    "  get DB KEY...|-     print the rows of these keys, or of the lines of standard input;\n"
    "                      status 1 if one is not there\n"
    "  delete DB KEY...|-  remove the rows of these keys\n"
    "  check DB            look up every key there is: status 1 if one is not found\n"
    "  compact DB          merge tables, whose filters are made anew\n"
    "options:\n"
    "  -b, --bits N        bits a key of new filters, 1 to 64 (default: 10)\n"
    "  -p, --policy NAME   bloomfile (the default), builtin or none\n"
    "  -h, --help\n"
    "Status 2: it could not be done.\n";

struct request {
    const struct database *database;
    const struct policy_counts *counts; /* NULL if the policy does not count */
    char **arguments;                   /* after the database; ends with NULL */
};

/* ---- changes */

struct changes {
    const struct database *database;
    leveldb_writebatch_t *batch;
    size_t bytes;
};

static struct changes changes_begin(const struct request *r)
{
    return (struct changes){ r->database, leveldb_writebatch_create(), 0 };
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

static int load(const struct request *r)
{
    struct row row;
    struct changes c = changes_begin(r);
    struct lines l = lines_open(NULL);
    l.name = r->arguments[0] != NULL ? r->arguments[0] : l.name;
    for (struct bloomfile_key line; lines_next(&l, &line); changes_count(&c, line.size)) {
        if (!row_parse(&l, line, &row)) {
            changes_end(&c);
            errx(2, "%s: line %zu has no tab between key and value; the rows before it are in",
                 l.name, l.count);
        }
        leveldb_writebatch_put(c.batch, row.key.data, row.key.size, row.value.data, row.value.size);
    }
    changes_end(&c);
    lines_close(&l);
    return 0;
}

static int delete (const struct request *r)
{
    struct changes c = changes_begin(r);
    struct rows keys = keys_read(r->arguments);
    for (size_t i = 0; i < keys.count; i++) {
        leveldb_writebatch_delete(c.batch, keys.row[i].key.data, keys.row[i].key.size);
        changes_count(&c, keys.row[i].key.size);
    }
    changes_end(&c);
    rows_free(&keys);
    return 0;
}

static int compact(const struct request *r)
{
    database_compact(r->database);
    return 0;
}

/* ---- lookups */

static void print_dumped(void *context, const struct row *row)
{
    (void)context;
    row_print(row);
}

static int dump(const struct request *r)
{
    database_each(r->database, print_dumped, NULL);
    return 0;
}

static int get(const struct request *r)
{
    size_t missing = 0;
    struct rows keys = keys_read(r->arguments);
    for (size_t i = 0; i < keys.count; i++) {
        struct row *row = &keys.row[i];
        char *found = database_get(r->database, row->key, &row->value.size);
        row->value.data = found;
        if (found != NULL)
            row_print(row);
        else
            missing++;
        leveldb_free(found);
    }
    rows_free(&keys);
    return missing > 0;
}

struct lookups {
    const struct request *request;
    uint64_t keys, lost, without_filter;
};

/* Opening moves all rows into tables. So a key that causes no filter lookup is in a table without a
 * filter. */
static void check_row(void *context, const struct row *row)
{
    struct lookups *l = context;
    const uint64_t asked = policy_tally.asked;
    size_t size;
    char *found = database_get(l->request->database, row->key, &size);
    l->keys++;
    l->lost +=
        found == NULL || size != row->value.size || memcmp(found, row->value.data, size) != 0;
    l->without_filter += l->request->counts != NULL && policy_tally.asked == asked;
    leveldb_free(found);
}

static int check(const struct request *r)
{
    struct lookups l = { .request = r };
    database_each(r->database, check_row, &l);
    printf("keys           %12" PRIu64 "\nlost           %12" PRIu64 "\n", l.keys, l.lost);
    if (r->counts != NULL)
        printf("without filter %12" PRIu64 "\n", l.without_filter);
    if (l.without_filter > 0)
        warnx("%s: tables have no filter of this policy, or a damaged one: they were read instead",
              r->database->path);
    return l.lost > 0;
}

/* ---- the command line */

static const struct command {
    const char *name;
    int (*run)(const struct request *);
    bool creates, takes_keys, takes_file;
} commands[] = {
    { .name = "load", .run = load, .creates = true, .takes_file = true },
    { .name = "dump", .run = dump },
    { .name = "get", .run = get, .takes_keys = true },
    { .name = "delete", .run = delete, .takes_keys = true },
    { .name = "check", .run = check },
    { .name = "compact", .run = compact },
};

struct settings {
    const char *policy;
    uint64_t bits;
};

static _Noreturn void wrong_use(void)
{
    fputs(usage, stderr);
    exit(2);
}

static _Noreturn void help(void)
{
    fputs(usage, stdout);
    finish_output();
    exit(0);
}

static const struct command *command_named(const char *name, int arguments)
{
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++) {
        const struct command *c = &commands[i];
        if (strcmp(name, c->name) == 0 &&
            (c->takes_keys ? arguments > 0 : arguments <= c->takes_file))
            return c;
    }
    wrong_use();
}

static leveldb_filterpolicy_t *policy_for(const struct settings *s, struct policy_counts *counts)
{
    if (strcmp(s->policy, "none") == 0)
        return NULL;
    if (strcmp(s->policy, "builtin") == 0)
        return leveldb_filterpolicy_create_bloom((int)s->bits);
    if (strcmp(s->policy, "bloomfile") != 0)
        errx(2, "%s is no policy: bloomfile, builtin or none", s->policy);
    leveldb_filterpolicy_t *policy = leveldb_filterpolicy_create_bloomfile((int)s->bits, counts);
    if (policy == NULL)
        err(2, "cannot make a filter policy");
    return policy;
}

/* Called before the database is opened, which would create it. */
static void open_input(const char *path)
{
    if (path != NULL && freopen(path, "re", stdin) == NULL)
        err(2, "cannot open %s", path);
}

static void report(const char *path, struct policy_counts *counts)
{
    if (counts->unusable > 0)
        warnx("%s: of %" PRIu64 " filters asked, %" PRIu64 " could not be used (%s): "
              "the table was read instead",
              path, policy_tally.asked, counts->unusable, bloomfile_strerror(counts->error));
}

static int run(const struct command *command, const struct settings *settings, char **arguments)
{
    struct policy_counts counts = { 0 };
    if (command->takes_file)
        open_input(arguments[1]);
    struct database database =
        database_open(arguments[0], command->creates, policy_for(settings, &counts), CACHE);
    const bool counted = strcmp(settings->policy, "bloomfile") == 0;
    const int status =
        command->run(&(struct request){ &database, counted ? &counts : NULL, arguments + 1 });
    database_close(&database);
    report(arguments[0], &counts);
    finish_output();
    return status;
}

int main(int argc, char **argv)
{
    static const struct option options[] = { { "bits", required_argument, NULL, 'b' },
                                             { "policy", required_argument, NULL, 'p' },
                                             { "help", no_argument, NULL, 'h' },
                                             { 0 } };
    struct settings settings = { "bloomfile", 10 };
    int option;
    take_descriptors();
    while ((option = getopt_long(argc, argv, "+b:p:h", options, NULL)) != -1) {
        if (option == 'b' && !parse_number(optarg, 1, 64, &settings.bits))
            errx(2, "%s is no number of bits from 1 to 64", optarg);
        else if (option == 'p')
            settings.policy = optarg;
        else if (option == 'h')
            help();
        else if (option != 'b')
            wrong_use();
    }
    if (argc - optind < 2)
        wrong_use();
    const struct command *command = command_named(argv[optind], argc - optind - 2);
    return run(command, &settings, argv + optind + 1);
}
