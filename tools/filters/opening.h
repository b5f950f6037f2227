/* SPDX-License-Identifier: MIT
 * Functions that open filters: for keys, or for work that does not need the hash function. */
#ifndef TOOLS_FILTERS_OPENING_H
#define TOOLS_FILTERS_OPENING_H

#include <bloomfile.h>
#include <bloomfile_inspect.h>
#include <bloomfile_open.h>

enum opening_use {
    OPENING_ANY,  /* for work without keys: also opens filters that use an application's hash */
    OPENING_KEYS, /* for lookups or adds: such a filter is the error BLOOMFILE_EHASH */
};

/* Opens a filter. Returns 0 or an error. `report` may be NULL. */
int opening_from(bloomfile_filter **f, struct bloomfile_source from, unsigned flags,
                 enum opening_use use, struct bloomfile_open_report *report);

/* opening_from() for a path, with OPENING_ANY and no report. */
int opening_any(bloomfile_filter **f, const char *path, unsigned flags);

/* Opens a path; ends the program with a message if that fails. */
bloomfile_filter *opening_must(const char *path, unsigned flags, enum opening_use use);

/* Whether a file that is open for writing, with `flags`, was unclean and was not synced since. Such
 * a file cannot be opened without BLOOMFILE_OPEN_ACCEPT_UNCLEAN. */
bool opening_accepted_unclean(const char *path, unsigned flags);

/* Opens a file that this program has written, like any reader, and describes it. Ends the program
 * if that fails; the message says what was `done`. measure: may be NULL. */
void opening_result(const char *path, const char *done, struct bloomfile_info *info,
                    struct bloomfile_measurement *measure);

#endif
