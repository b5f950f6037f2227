/* SPDX-License-Identifier: MIT
 * The request of bfquery: its options and operands. */
#ifndef BLOOMFILE_TOOLS_QUERY_REQUEST_H
#define BLOOMFILE_TOOLS_QUERY_REQUEST_H

#include "bfquery/confirm.h"
#include "bfquery/filters.h"
#include "cli/names.h"

struct request {
    struct filters filters;
    struct names filter_names, inputs;
    struct names lists; /* of keys never to print */
    struct names given; /* keys */
    struct keys_options keys;
    unsigned open_flags, threads;
    struct print print;
    struct confirm confirm;
    bool invert, count, quiet, any;
    uint64_t most; /* keys to print; 0: all */
    bool streams;  /* to a pipe or a terminal, whose reader uses each line immediately */
};

/* Reads the command line. Ends the program through cli_usage() if options are
 * mutually exclusive. */
void request_parse(struct request *r, int argc, char **argv);

/* Ends the program through cli_fail() if standard output is a filter, an input or a list. */
void request_check_output(const struct request *r);

#endif
