/* SPDX-License-Identifier: MIT
 *
 * File names: operands, values of options, and names from --files-from, which can be more than fit
 * a command line.
 */
#ifndef TOOLS_CLI_NAMES_H
#define TOOLS_CLI_NAMES_H

#include <stdbool.h>

/* Begins as all zero. */
struct names {
    char **list;
    int count;
    char **files; /* lists to read */
    int files_count;
    char **texts; /* of those */
    int texts_count;
    bool stdin_taken; /* by a list */
};

/* Functions for OPTIONS_CALL: add a name; add a list of names, which names_read() reads. */
void names_add(void *names, char *name);
void names_add_file(void *names, char *file);

#define NAMES_FROM_OPTION(request, field)                                                          \
    OPTION(0, "files-from", "LIST",                                                                \
           "add the file names in LIST ('-': standard input), one per line or ended by NUL",       \
           OPTIONS_CALL(request, field, names_add_file), .value = OPTIONS_A_FILE)

/* Adds the operands, then the names in the lists. If a list contains a NUL byte, its names end with
 * NUL, otherwise with newline; the last name may lack it. A list that cannot be read, has no names
 * or has an empty name ends the program. So does "-" as an input if a list is read from standard
 * input. */
void names_read(struct names *n, char *const *operands, int count);

void names_free(struct names *n);

#endif
