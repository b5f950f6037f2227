/* SPDX-License-Identifier: MIT
 * What a new file replaces. */
#ifndef BLOOMFILE_REPLACED_H
#define BLOOMFILE_REPLACED_H

#include "format/header.h"

/* The header of a file of that size, as decode_header(). A record that is damaged is no error. */
int replaced_read_header(int fd, uint64_t size, struct header *h);

/* Whether one file may be put in place of what stands at the path, with these flags of a public
 * function: BLOOMFILE_ESERIES for the first file of a live series that has other files, which would
 * be left without it; an errno. */
int replaced_check(const char *path, unsigned flags);

#endif
