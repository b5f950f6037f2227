/* SPDX-License-Identifier: MIT
 * The text of format-spec.md, for tests that take what they expect from it. */
#ifndef BLOOMFILE_TESTS_SPEC_TEXT_H
#define BLOOMFILE_TESTS_SPEC_TEXT_H

#include <string.h>

#include "support.h"

/* The text between the line that begins with "## NUMBER " and the next line that begins so. */
struct bytes spec_section(const char *number);

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
