/* SPDX-License-Identifier: MIT
 * Children that end with _exit() are counted, too. */
#ifndef BLOOMFILE_TESTS_COVERAGE_H
#define BLOOMFILE_TESTS_COVERAGE_H

_Noreturn void exit_with_coverage(int status);

#endif
