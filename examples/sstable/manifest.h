/* SPDX-License-Identifier: MIT
 *
 * The file MANIFEST of a tablet: which tables it has. What is not named there does not exist,
 * whatever files there are; so replacing this one file changes the tablet, at once.
 *
 *     sstable 1
 *     next 8
 *     7
 *     4
 *     checksum 0123456789abcdef
 *
 * Tables are named by their numbers, newest first; no number is used twice.
 */
#ifndef MANIFEST_H
#define MANIFEST_H

#include "report.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    MANIFEST_TABLES = 1000
}; /* at most */

struct manifest {
    uint64_t next; /* the number of the next table to be written */
    size_t count;
    uint64_t tables[MANIFEST_TABLES];
};

/* Errors are reported, but for ENOENT. */
int manifest_read(struct manifest *m, const char *directory, const struct reporter *reporter);

/* Replaces it atomically. *in_force tells whether it is in place; it may be and not surely be on
 * disk, if the last step fails. */
int manifest_write(const struct manifest *m, const char *directory, bool *in_force,
                   const struct reporter *reporter);

bool manifest_names(const struct manifest *m, uint64_t number);

#endif
