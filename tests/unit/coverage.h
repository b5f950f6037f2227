/* SPDX-License-Identifier: MIT
 * Coverage of children that end with _exit(). */
#ifndef BLOOMFILE_TESTS_COVERAGE_H
#define BLOOMFILE_TESTS_COVERAGE_H

_Noreturn void exit_with_coverage(int status);

#endif
