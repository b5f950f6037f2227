/* SPDX-License-Identifier: MIT
 * Opening of filters: for lookups by key, or for work that needs no hash. */
#ifndef TOOLS_FILTERS_OPENING_H
#define TOOLS_FILTERS_OPENING_H

#include <bloomfile.h>
#include <bloomfile_open.h>

enum opening_use {
    OPENING_ANY,  /* a filter of an application's hash, too: for all but keys */
    OPENING_KEYS, /* keys are looked up or added: such a filter is BLOOMFILE_EHASH */
};

/* Returns the error; report: or NULL. */
int opening_from(bloomfile_filter **f, struct bloomfile_source from, unsigned flags,
                 enum opening_use use, struct bloomfile_open_report *report);

/* The same by path, for any use, without a report. */
int opening_any(bloomfile_filter **f, const char *path, unsigned flags);

/* Ends the program if it cannot be opened. */
bloomfile_filter *opening_must(const char *path, unsigned flags, enum opening_use use);

#endif
