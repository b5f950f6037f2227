/* SPDX-License-Identifier: MIT */
#ifndef SET_WRITE_H
#define SET_WRITE_H

#include "rows.h"

/* Writes a set to a new folder, which gets its name when all of it is on disk. An SST file is ended
 * when it has about so many bytes. Trouble, or a signal to end, ends the program and leaves
 * nothing. */
void set_write(const char *folder, const struct rows *rows, uint64_t file_bytes, double fpr);

#endif
