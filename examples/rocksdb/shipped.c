/* SPDX-License-Identifier: MIT
 *
 * shipped - ships sets of rows to RocksDB together with a filter of their keys
 */
#include "../shared.h"
#include "set.h"

#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static const char help[] =
    "usage: shipped ship [-b BYTES] [-l LAYOUT] [-p RATE] SET [FILE]\n"
    "       shipped ingest SET DATABASE\n"
    "       shipped get DATABASE KEY...\n"
    "       shipped status DATABASE\n"
    "\n"
    "ship    writes the lines 'key<TAB>value' of FILE, or of standard input, to the new\n"
    "        folder SET: SST files of about BYTES bytes each (64 MiB), and a filter of the\n"
    "        keys with the false-positive rate RATE (0.01) and the layout LAYOUT: blocked,\n"
    "        or ribbon, which is a third smaller\n"
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

static void take(bool right, const char *text, const char *what)
{
    if (!right)
        errx(2, "%s is no %s", text, what);
}

static int ship(int argc, char **argv)
{
    uint64_t file_bytes = (uint64_t)64 << 20;
    uint32_t layout = BLOOMFILE_LAYOUT_BLOCKED;
    double rate = 0.01;
    opterr = 0;
    for (int option; (option = getopt(argc, argv, "b:l:p:")) != -1;) {
        if (option == 'b')
            take(parse_number(optarg, 1, UINT64_MAX, &file_bytes), optarg, "number of bytes");
        else if (option == 'l')
            take(parse_layout(optarg, &layout), optarg, "layout: blocked or ribbon");
        else if (option == 'p')
            take(parse_rate(optarg, &rate), optarg, "rate above 0 and below 1");
        else
            usage();
    }
    if (argc - optind < 1 || argc - optind > 2)
        usage();
    ship_set(argv[optind], argc - optind == 2 ? argv[optind + 1] : "-", file_bytes, layout, rate);
    return 0;
}

int main(int argc, char **argv)
{
    const char *command = argc > 1 ? argv[1] : "";
    int status = 2;
    take_descriptors();
    if (strcmp(command, "--help") == 0) {
        fputs(help, stdout);
        status = 0;
    } else if (strcmp(command, "ship") == 0) {
        status = ship(argc - 1, argv + 1);
    } else if (strcmp(command, "ingest") == 0 && argc == 4) {
        ingest_set(argv[2], argv[3]);
        status = 0;
    } else if (strcmp(command, "get") == 0 && argc >= 4) {
        status = get_rows(argv[2], argv + 3) ? 0 : 1;
    } else if (strcmp(command, "status") == 0 && argc == 3) {
        status = print_status(argv[2]) ? 0 : 1;
    } else {
        usage();
    }
    finish_output();
    return status;
}
