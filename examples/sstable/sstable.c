/* SPDX-License-Identifier: MIT
 *
 * sstable - sorted tables with filters, as in a storage engine
 *
 * What decides is in other files: which filter may be believed (table_read.c), how one comes into
 * being with its table (table_write.c), and how a lookup uses them (tablet_get.c).
 */
#include "commands.h"
#include "manifest.h"

#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <stdio.h>
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
    "  --no-filters          get: use none\n"
    "  --stats               get: say on standard error how many tables were searched\n"
    "  --tables N            compact: the oldest N only\n"
    "  --newest              compact: with --tables, the newest N\n"
    "  --merge-filters       compact: unite filters instead of building one from the keys\n"
    "  --help\n"
    "\n"
    "Exit status: 0; get: 1 if no key was found; 2 after trouble.\n";

_Noreturn void usage(const char *what, const char *which)
{
    errx(2, "%s%s (try 'sstable --help')", what, which);
}

static const struct option OPTIONS[] = {
    { "embedded", no_argument, NULL, 'e' },  { "compression", required_argument, NULL, 'c' },
    { "fpr", required_argument, NULL, 'p' }, { "no-filters", no_argument, NULL, 'n' },
    { "stats", no_argument, NULL, 's' },     { "tables", required_argument, NULL, 't' },
    { "newest", no_argument, NULL, 'N' },    { "merge-filters", no_argument, NULL, 'm' },
    { "help", no_argument, NULL, 'h' },      { 0 },
};

/* fclose() speaks of the last write alone. */
static void close_output(void)
{
    const bool failed = ferror(stdout) != 0;
    errno = EIO;
    if (fclose(stdout) != 0 || failed)
        err(2, "cannot write to standard output");
}

static _Noreturn void help(void)
{
    fputs(HELP, stdout);
    close_output();
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

int main(int argc, char **argv)
{
    struct command_line c = { .table = { .compression = MTBL_COMPRESSION_ZSTD, .fpr = 0.01 } };
    for (int option; (option = getopt_long(argc, argv, "", OPTIONS, NULL)) != -1;)
        take_option(&c, option);
    if (argc - optind < 2)
        usage("a command and a directory are needed", "");
    c.directory = argv[optind + 1];
    c.rest = argv + optind + 2;
    const int status = command_run(argv[optind], &c);
    close_output();
    return status;
}
