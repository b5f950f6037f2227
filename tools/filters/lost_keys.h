/* SPDX-License-Identifier: MIT
 *
 * Detection of keys that would be lost when a filter made of another one replaces an existing
 * filter: --force does not allow that, --discard does.
 */
#ifndef TOOLS_FILTERS_LOST_KEYS_H
#define TOOLS_FILTERS_LOST_KEYS_H

#include <bloomfile.h>

#include <stdbool.h>

#define LOST_KEYS_OPTION(request, field)                                                           \
    OPTION(0, "discard", NULL, "with --force: replace a filter even if keys are lost",             \
           OPTIONS_FLAG(request, field))

struct lost_keys {
    const char *dest;
    const char *path;               /* of the filter whose keys the new one has */
    const bloomfile_filter *source; /* the same, open; NULL: the new one may lack some of them */
    bool force, discard;
};

/* Ends the program if a file that has the name of `dest` must not be replaced. With --force it may
 * be if it has no keys, is the source itself, or is sealed, has not more keys than the source, and
 * has no bits that the source, or a fold or projection of it, lacks, unless that may be chance:
 * then it is an earlier result of the same command. Call it after destination_check(dest, true). */
void lost_keys_check(const struct lost_keys *l);

/* Whether keys would be lost with the file of that name. Those of a filter that cannot be opened
 * count, and so do those that may be added to a live one. */
bool lost_keys_are_in(const char *path);

bool lost_keys_is_live(const char *path);

#endif
