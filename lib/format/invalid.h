/* SPDX-License-Identifier: MIT
 * Invalid arguments, and the name of the last one. */
#ifndef BLOOMFILE_INVALID_H
#define BLOOMFILE_INVALID_H

/* Notes for bloomfile_invalid() which argument is wrong, and returns the error. name: static. */
int invalid(int error, const char *name);

/* The name noted last in this thread; "" if there is none. */
const char *invalid_name(void);

#endif
