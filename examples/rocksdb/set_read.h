/* SPDX-License-Identifier: MIT */
#ifndef SET_READ_H
#define SET_READ_H

#include <stdbool.h>

/* Prints the rows of keys as "key<TAB>value". Keys: those given; "-" stands for the lines of
 * standard input. true if a row was found. */
bool set_get(const char *database, char *const *keys, int count);

/* Prints what the database has. true if its filter is in use. */
bool set_status(const char *database);

#endif
