/* SPDX-License-Identifier: MIT
 *
 * A set on its way: a folder with SST files, the filter of their keys, and this list of contents,
 * which is written last.
 */
#ifndef MANIFEST_H
#define MANIFEST_H

#include "identity.h"

#define MANIFEST   "MANIFEST"
#define SET_FILTER "set.bloom"

struct manifest {
    struct identity identity;
    uint64_t rows;
    unsigned files; /* manifest_file(folder, 0), ... */
};

/* The path of an SST file, from malloc(). */
char *manifest_file(const char *folder, unsigned number);

/* Both end the program on trouble. */
void manifest_write(const char *folder, const struct manifest *manifest);
struct manifest manifest_read(const char *folder);

#endif
