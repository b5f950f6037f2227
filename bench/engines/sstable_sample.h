/* SPDX-License-Identifier: MIT
 *
 * What bench-sstable measures on: tables whose keys come from the whole range of keys, so that
 * every one must be searched for a key that is absent.
 */
#ifndef BLOOMFILE_BENCH_SSTABLE_SAMPLE_H
#define BLOOMFILE_BENCH_SSTABLE_SAMPLE_H

#include "tablet.h"

enum {
    SAMPLE_KEY = 16,
    SAMPLE_VALUE = 100
};

struct sample {
    uint64_t tables, rows; /* rows of each table */
};

/* A key of the sample, or one between two of them, by any number. */
void sample_key(const struct sample *s, uint64_t number, bool present, char key[SAMPLE_KEY + 1]);

/* Makes the tablets SIDECAR and EMBEDDED in the current directory. Trouble ends the program. */
void sample_make(const struct sample *s, mtbl_compression_type compression);

#define SIDECAR  "sidecar"
#define EMBEDDED "embedded"

#endif
