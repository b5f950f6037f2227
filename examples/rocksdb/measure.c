/* SPDX-License-Identifier: MIT
 *
 * rocksdb-measure - what a filter in front of RocksDB saves, and costs
 */
#include "measure.h"

#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>

static const char help[] =
    "usage: rocksdb-measure [-n ROWS] [-g GETS] [-c GETS] [-r ROUNDS] [--quick] [DIRECTORY]\n"
    "\n"
    "Prints a table: RocksDB with no filter, with its own (10 bits a key), with a filter of\n"
    "bloomfile in front, and with both. Medians of ROUNDS (8) in which all take turns, with\n"
    "ROWS (1000000) rows of 16 + 100 bytes and -g GETS (200000) of each kind a round, -c GETS\n"
    "(1000) from files that are not in memory. --quick: a tenth of these. Works\n"
    "in a new folder in DIRECTORY ($TMPDIR, or /tmp), which must be on a disk for the cold\n"
    "gets to mean anything, and takes 700 bytes a row there.\n";

static uint64_t number(const char *text, uint64_t least, uint64_t greatest)
{
    char *end;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value < least ||
        value > greatest)
        errx(2, "%s is no number from %llu to %llu", text, (unsigned long long)least,
             (unsigned long long)greatest);
    return value;
}

static void set_option(struct measure_options *o, int option)
{
    if (option == 'n')
        o->rows = number(optarg, 1, 1000000000);
    else if (option == 'g')
        o->gets = number(optarg, 1, 100000000);
    else if (option == 'c')
        o->cold_gets = number(optarg, 1, 100000000);
    else
        o->rounds = (unsigned)number(optarg, 1, MEASURE_MAX_ROUNDS);
}

static void parse(struct measure_options *o, int argc, char **argv)
{
    static const struct option words[] = { { "quick", no_argument, NULL, 'q' },
                                           { "help", no_argument, NULL, 'h' },
                                           { NULL, 0, NULL, 0 } };
    for (int option; (option = getopt_long(argc, argv, "n:g:c:r:", words, NULL)) != -1;) {
        if (option == 'h') {
            fputs(help, stdout);
            exit(fflush(stdout) == 0 ? 0 : 2);
        }
        if (option == '?')
            exit(2);
        if (option == 'q')
            *o = (struct measure_options){
                .rows = 100000, .gets = 20000, .cold_gets = 100, .rounds = 8
            };
        else
            set_option(o, option);
    }
    if (argc - optind > 1)
        errx(2, "one directory, not %d", argc - optind);
    o->folder = argc > optind ? argv[optind] : NULL;
}

int main(int argc, char **argv)
{
    struct measure_options o = { .rows = 1000000, .gets = 200000, .cold_gets = 1000, .rounds = 8 };
    parse(&o, argc, argv);
    measure_make_folder(o.folder);
    measure_writes(&o);
    measure_gets(&o);
    measure_print(&o, measure_cold(&o));
    if (fflush(stdout) != 0 || ferror(stdout))
        err(2, "cannot write to standard output");
    return 0;
}
