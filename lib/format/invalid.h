/* SPDX-License-Identifier: MIT
 * The name of the last invalid argument, for bloomfile_invalid(). */
#ifndef BLOOMFILE_INVALID_H
#define BLOOMFILE_INVALID_H

/* Records the name of an invalid argument, a static string. Returns the error. */
int invalid(int error, const char *name);

/* The name that this thread recorded last, or "". */
const char *invalid_name(void);

#endif
