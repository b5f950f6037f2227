/* SPDX-License-Identifier: MIT
 * The text of format-spec.md, for tests that take what they expect from it. */
#ifndef BLOOMFILE_TESTS_SPEC_TEXT_H
#define BLOOMFILE_TESTS_SPEC_TEXT_H

#include <string.h>

#include "support.h"

/* The text between the line that begins with "## NUMBER " and the next line that begins so. */
struct bytes spec_section(const char *number);

/* All of it; stays with this file. */
struct bytes spec_all(void);

/* The sections that have test vectors, one behind the other. */
struct bytes spec_vectors(void);

/* The image of section 19: the rows "0000: BF 42 ... comment", "*" and "0244: end". */
struct bytes spec_whole_file(void);

/* Reads the bytes written "BF 42 ..." at the start of a text; their number. */
size_t spec_bytes(const char *text, uint8_t *bytes, size_t room);

unsigned lines_beginning_with(const char *word, struct bytes text);

/* Takes the text apart. */
#define for_each_line(line, text)                                                                  \
    for (char *rest_ = (char *)(text).data, *line; (line = strsep(&rest_, "\n")) != NULL;)

uint64_t hex(const char *digits);

/* The main function of a program whose argument is the path of format-spec.md. */
#define spec_test_main(argc, argv, tests)                                                          \
    ((argc) != 2 ? 2                                                                               \
                 : (spec_load((argv)[1]), cmocka_run_group_tests(tests, NULL, spec_release) != 0))
void spec_load(const char *path);
int spec_release(void **state);

#endif
