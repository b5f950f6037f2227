/* SPDX-License-Identifier: MIT
 *
 * shipped - sets of rows that are shipped to RocksDB together with a filter of their keys
 */
#include "rows.h"
#include "set_ingest.h"
#include "set_read.h"
#include "set_write.h"

#include <err.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: shipped ship [-b BYTES] [-p RATE] SET [FILE]\n"
    "       shipped ingest SET DATABASE\n"
    "       shipped get DATABASE KEY...\n"
    "       shipped status DATABASE\n"
    "\n"
    "ship    writes the lines 'key<TAB>value' of FILE, or of standard input, to the new\n"
    "        folder SET: SST files of about BYTES bytes each (64 MiB), and a filter of the\n"
    "        keys with the false-positive rate RATE (0.01)\n"
    "ingest  makes them the rows of DATABASE, and puts the filter beside it, DATABASE.bloom\n"
    "get     prints the rows of keys; the KEY '-' stands for the lines of standard input\n"
    "status  tells which set DATABASE has, and whether its filter is in use\n"
    "\n"
    "Exit status: 0; 1 if 'get' finds none of the keys, or the filter is not in use for\n"
    "'status'; 2 if there was trouble.\n";

static _Noreturn void usage(void)
{
    fputs("shipped: the command line is wrong (try 'shipped --help')\n", stderr);
    exit(2);
}

static void finish_output(void)
{
    if (fflush(stdout) != 0 || ferror(stdout))
        err(2, "cannot write to standard output");
}

static uint64_t parse_bytes(const char *text)
{
    char *end;
    errno = 0;
    const unsigned long long value = strtoull(text, &end, 10);
    if (text[0] < '0' || text[0] > '9' || *end != '\0' || errno != 0 || value == 0)
        errx(2, "%s is no number of bytes", text);
    return value;
}

static double parse_rate(const char *text)
{
    char *end;
    const double value = strtod(text, &end);
    if (end == text || *end != '\0' || !(value > 0 && value < 1))
        errx(2, "%s is no rate above 0 and below 1", text);
    return value;
}

static int ship(int argc, char **argv)
{
    uint64_t file_bytes = (uint64_t)64 << 20;
    double rate = 0.01;
    opterr = 0;
    for (int option; (option = getopt(argc, argv, "b:p:")) != -1;) {
        if (option == 'b')
            file_bytes = parse_bytes(optarg);
        else if (option == 'p')
            rate = parse_rate(optarg);
        else
            usage();
    }
    if (argc - optind < 1 || argc - optind > 2)
        usage();
    const char *path = argc - optind == 2 ? argv[optind + 1] : "-";
    struct rows rows = rows_read(path);
    if (rows.count == 0)
        errx(2, "cannot ship %s: it has no rows", path);
    set_write(argv[optind], &rows, file_bytes, rate);
    rows_free(&rows);
    return 0;
}

int main(int argc, char **argv)
{
    const char *command = argc > 1 ? argv[1] : "";
    int status = 2;
    if (strcmp(command, "--help") == 0) {
        fputs(help, stdout);
        status = 0;
    } else if (strcmp(command, "ship") == 0) {
        status = ship(argc - 1, argv + 1);
    } else if (strcmp(command, "ingest") == 0 && argc == 4) {
        set_ingest(argv[2], argv[3]);
        status = 0;
    } else if (strcmp(command, "get") == 0 && argc >= 4) {
        status = set_get(argv[2], argv + 3, argc - 3) ? 0 : 1;
    } else if (strcmp(command, "status") == 0 && argc == 3) {
        status = set_status(argv[2]) ? 0 : 1;
    } else {
        usage();
    }
    finish_output();
    return status;
}
