/* SPDX-License-Identifier: MIT
 *
 * Names of files: operands, values of options, and those of --files-from, which are too many for a
 * command line.
 */
#ifndef TOOLS_CLI_NAMES_H
#define TOOLS_CLI_NAMES_H

#include <stdbool.h>

/* Begins as all zero. */
struct names {
    char **list;
    int count;
    char **files; /* lists that are to be read */
    int files_count;
    char **texts; /* of those */
    int texts_count;
    bool stdin_taken; /* by a list */
};

/* Functions for OPTIONS_CALL: a name; a file of names, which names_read() reads. */
void names_add(void *names, char *name);
void names_add_file(void *names, char *file);

#define NAMES_FROM_OPTION(request, field)                                                          \
    OPTION(0, "files-from", "LIST",                                                                \
           "add the file names in LIST ('-': standard input), each on a line or ended by NUL",     \
           OPTIONS_CALL(request, field, names_add_file), .value = OPTIONS_A_FILE)

/* Adds operands, then the names in the files. In a file that has a NUL byte, names end with NUL,
 * otherwise with newline; the last one may lack its end. A file that cannot be read or has an empty
 * name or no names ends the program, and so does a name of standard input if a list is read from
 * there. */
void names_read(struct names *n, char *const *operands, int count);

void names_free(struct names *n);

#endif
