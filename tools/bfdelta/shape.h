/* SPDX-License-Identifier: MIT
 * Differences in shape that make a patch between two filters impossible. */
#ifndef BLOOMFILE_TOOLS_DELTA_SHAPE_H
#define BLOOMFILE_TOOLS_DELTA_SHAPE_H

#include <bloomfile.h>

/* Whether an error of bloomfile_delta() means that the two filters have different shapes. */
bool shape_is_to_blame(int error);

/* Ends the program with that error and a remedy. */
_Noreturn void shape_fail(int error, const char *old_name, const bloomfile_filter *old,
                          const char *new_name, const bloomfile_filter *new);

#endif
