/* SPDX-License-Identifier: MIT
 * File names from operands, from options, and from --files-from, for more names than fit on a
 * command line. */
#ifndef TOOLS_CLI_NAMES_H
#define TOOLS_CLI_NAMES_H

#include <stdbool.h>

/* Initialize it with zeros. */
struct names {
    char **list;
    int count;
    char **files; /* lists to read */
    int files_count;
    char **texts; /* contents of the lists read */
    int texts_count;
    bool stdin_taken; /* a list is standard input */
};

/* For OPTIONS_CALL: add one name, or a list of names for names_read() to read. */
void names_add(void *names, char *name);
void names_add_file(void *names, char *file);

#define NAMES_FROM_OPTION(request, field)                                                          \
    OPTION(0, "files-from", "LIST",                                                                \
           "add the file names in LIST ('-': standard input), one per line or ended by NUL",       \
           OPTIONS_CALL(request, field, names_add_file), .value = OPTIONS_A_FILE)

/* Adds the operands, then the names in the lists. If a list contains a NUL byte, its names end with
 * NUL, otherwise with newline; the last name may lack its terminator. A list that cannot be read,
 * has no names or has an empty name ends the program. So does "-" as an input if a list is read
 * from standard input. */
void names_read(struct names *n, char *const *operands, int count);

void names_free(struct names *n);

#endif
