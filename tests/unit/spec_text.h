/* SPDX-License-Identifier: MIT
 * The texts of the specification, for tests that take their expected values from them. */
#ifndef BLOOMFILE_TESTS_SPEC_TEXT_H
#define BLOOMFILE_TESTS_SPEC_TEXT_H

#include <string.h>

#include "support.h"

#define SPEC_CORE       "format-spec.md"
#define SPEC_PART(name) "doc/format/" name ".md"

/* Returns the text of a file between the line that begins with "## NUMBER " and the next such
 * line. NULL: the whole file. */
struct bytes spec_section(const char *file, const char *number);

/* Returns the core and all parts. */
struct bytes spec_all(void);

/* tests/vectors.tsv: kind, layout, input and expected result, separated by tabs. */
struct bytes spec_vectors(void);

/* The image of section 4: the rows "0000: BF 42 ... comment", "*" and "0244: end". */
struct bytes spec_whole_file(void);

/* Reads the bytes written "BF 42 ..." at the start of a text. Returns their number. */
size_t spec_bytes(const char *text, uint8_t *bytes, size_t room);

/* Splits the text at newlines, in place. */
#define for_each_line(line, text)                                                                  \
    for (char *rest_ = (char *)(text).data, *line; (line = strsep(&rest_, "\n")) != NULL;)

/* Runs its body for each vector of a kind, the first word of its line. Asserts that there are at
 * least `least`. */
#define for_each_vector(line, kind, least)                                                         \
    for (struct vectors all_ = vectors_of(kind, least); next_vector(&all_);)                       \
        for (char *line = all_.line; line != NULL; line = NULL)
struct vectors {
    struct bytes text;
    const char *kind;
    unsigned least;
    char *rest, *line;
};
struct vectors vectors_of(const char *kind, unsigned least);
bool next_vector(struct vectors *all);

uint64_t hex(const char *digits);

/* The main function of a program whose argument is the folder of the project. */
#define spec_test_main(argc, argv) ((argc) != 2 ? 2 : (spec_load((argv)[1]), run_all(NULL, NULL)))
void spec_load(const char *folder);

#endif
