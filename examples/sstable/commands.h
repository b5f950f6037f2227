/* SPDX-License-Identifier: MIT
 *
 * The commands of the program sstable.
 */
#ifndef COMMANDS_H
#define COMMANDS_H

#include "change.h"

struct command_line {
    struct table_options table;
    struct compaction compaction;
    bool no_filters, stats;
    const char *directory;
    char **rest; /* ends with NULL */
};

/* Returns the exit status. */
int command_run(const char *name, const struct command_line *c);

/* Ends the program, for a wrong command line. */
_Noreturn void usage(const char *what, const char *which);

#endif
