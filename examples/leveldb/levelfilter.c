/* SPDX-License-Identifier: MIT
 *
 * levelfilter - a LevelDB database whose filters are those of bloomfile
 *
 * What is to be copied is policy.c, and from database.c how a database is opened with it.
 */
#include "commands.h"
#include "policy.h"

#include <bloomfile.h>

#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define CACHE ((size_t)8 << 20)

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

static const struct command {
    const char *name;
    int (*run)(const struct request *);
    bool creates, takes_keys, takes_file;
} commands[] = {
    { .name = "load", .run = command_load, .creates = true, .takes_file = true },
    { .name = "dump", .run = command_dump },
    { .name = "get", .run = command_get, .takes_keys = true },
    { .name = "delete", .run = command_delete, .takes_keys = true },
    { .name = "check", .run = command_check },
    { .name = "compact", .run = command_compact },
};

struct settings {
    const char *policy;
    int bits;
};

static _Noreturn void wrong_use(void)
{
    fputs(usage, stderr);
    exit(2);
}

static void finish_output(void)
{
    if (fflush(stdout) != 0 || ferror(stdout))
        err(2, "cannot write to standard output");
}

static _Noreturn void help(void)
{
    fputs(usage, stdout);
    finish_output();
    exit(0);
}

static int bits_from(const char *text)
{
    char *end;
    errno = 0;
    const long bits = strtol(text, &end, 10);
    if (end == text || *end != '\0' || errno != 0 || bits < 1 || bits > 64)
        errx(2, "%s is no number of bits from 1 to 64", text);
    return (int)bits;
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
        return leveldb_filterpolicy_create_bloom(s->bits);
    if (strcmp(s->policy, "bloomfile") != 0)
        errx(2, "%s is no policy: bloomfile, builtin or none", s->policy);
    leveldb_filterpolicy_t *policy = leveldb_filterpolicy_create_bloomfile(s->bits, counts);
    if (policy == NULL)
        err(2, "cannot make a filter policy");
    return policy;
}

/* Before the database, which would be made. */
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
              path, counts->asked, counts->unusable, bloomfile_strerror(counts->error));
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
    while ((option = getopt_long(argc, argv, "+b:p:h", options, NULL)) != -1) {
        if (option == 'b')
            settings.bits = bits_from(optarg);
        else if (option == 'p')
            settings.policy = optarg;
        else if (option == 'h')
            help();
        else
            wrong_use();
    }
    if (argc - optind < 2)
        wrong_use();
    const struct command *command = command_named(argv[optind], argc - optind - 2);
    return run(command, &settings, argv + optind + 1);
}
