/* SPDX-License-Identifier: MIT
 *
 * leveldb-measure - our filters beside LevelDB's own, and beside none
 */
#include "measure.h"

#include "scratch.h"

#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

static const char usage[] =
    "usage: leveldb-measure [OPTIONS] [DIRECTORY]\n"
    "Prints one table: databases with filters of bloomfile, LevelDB's own, and none; or,\n"
    "with -f, the filters of data blocks alone. Works in a directory of its own in DIRECTORY\n"
    "(default: $TMPDIR, or /tmp), and removes it; four databases, with the defaults 310 MB.\n"
    "  -q, --quick       first: -n 50000 -r 3 -w 10000 -c 100, and 1000 filters\n"
    "  -n, --rows N      rows of each database (1000000)\n"
    "  -s, --size N      bytes of a value (100)\n"
    "  -b, --bits N      bits a key, 1 to 50 (10); the last has LevelDB's filters, but as large\n"
    "                    as ours are with their trailer\n"
    "  -r, --rounds N    of which medians are shown, 1 to 99 (5)\n"
    "  -w, --warm N      gets a round, of absent and of present keys (100000)\n"
    "  -c, --cold N      gets a round, of either, with no data in memory (1000)\n"
    "  -k, --sequential  keys user000000000000 and so on, instead of random ones\n"
    "  -f, --filters     20000 filters of 20, 30 and 40 keys each, no database\n"
    "  -h, --help\n"
    "Times are those of a whole round by its number of gets; in parentheses, the ratio to the\n"
    "time without filters. Warm: all blocks are in LevelDB's cache. Cold: the filters are in\n"
    "memory and no data is; files are read page by page, without reading ahead, and their\n"
    "bytes counted by /proc/self/io. Absent keys lie between neighbours that are present.\n";

struct choice {
    struct measure_options options;
    bool only_filters;
    const char *parent;
};

static unsigned number(const char *text, unsigned least, unsigned greatest)
{
    char *end;
    errno = 0;
    const unsigned long value = strtoul(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < least ||
        value > greatest)
        errx(2, "%s is no number from %u to %u", text, least, greatest);
    return (unsigned)value;
}

static _Noreturn void wrong_use(void)
{
    fputs(usage, stderr);
    exit(2);
}

static _Noreturn void help(void)
{
    if (fputs(usage, stdout) == EOF || fflush(stdout) != 0)
        err(2, "cannot write to standard output");
    exit(0);
}

static void set_number(struct measure_options *o, int letter, const char *text)
{
    const struct {
        int letter;
        unsigned *value, least, greatest;
    } numbers[] = {
        { 'n', &o->rows, 1000, 100000000 }, { 's', &o->value_size, 0, 1000000 },
        { 'b', &o->bits_per_key, 1, 50 },   { 'r', &o->rounds, 1, MAX_ROUNDS },
        { 'w', &o->warm, 1, 100000000 },    { 'c', &o->cold, 1, 100000000 },
    };
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++) {
        if (numbers[i].letter == letter) {
            *numbers[i].value = number(text, numbers[i].least, numbers[i].greatest);
            return;
        }
    }
    wrong_use();
}

static void be_quick(struct measure_options *o)
{
    o->rows = 50000;
    o->rounds = 3;
    o->warm = 10000;
    o->cold = 100;
    o->filters = 1000;
}

static struct choice choose(int argc, char **argv)
{
    static const struct option options[] = {
        { "quick", no_argument, NULL, 'q' },
        { "rows", required_argument, NULL, 'n' },
        { "size", required_argument, NULL, 's' },
        { "bits", required_argument, NULL, 'b' },
        { "rounds", required_argument, NULL, 'r' },
        { "warm", required_argument, NULL, 'w' },
        { "cold", required_argument, NULL, 'c' },
        { "sequential", no_argument, NULL, 'k' },
        { "filters", no_argument, NULL, 'f' },
        { "help", no_argument, NULL, 'h' },
        { 0 },
    };
    struct choice c = { { 10, 5, 1000000, 100, 100000, 1000, 20000, false },
                        false,
                        getenv("TMPDIR") };
    int option;
    while ((option = getopt_long(argc, argv, "qn:s:b:r:w:c:kfh", options, NULL)) != -1) {
        if (option == 'q')
            be_quick(&c.options);
        else if (option == 'k')
            c.options.sequential = true;
        else if (option == 'f')
            c.only_filters = true;
        else if (option == 'h')
            help();
        else
            set_number(&c.options, option, optarg);
    }
    if (argc - optind > 1)
        wrong_use();
    if (optind < argc)
        c.parent = argv[optind];
    else if (c.parent == NULL)
        c.parent = "/tmp";
    return c;
}

static void measure(const void *context)
{
    const struct choice *c = context;
    if (c->only_filters)
        measure_filters(&c->options);
    else
        measure_databases(&c->options);
}

int main(int argc, char **argv)
{
    const struct choice choice = choose(argc, argv);
    return scratch_run(choice.parent, measure, &choice);
}
