/* SPDX-License-Identifier: MIT
 * Detecting keys that would be lost when a derived filter replaces an existing file: --force does
 * not allow that, --discard does. */
#ifndef TOOLS_FILTERS_LOST_KEYS_H
#define TOOLS_FILTERS_LOST_KEYS_H

#include <bloomfile.h>

#include <stdbool.h>

#define LOST_KEYS_OPTION(request, field)                                                           \
    OPTION(0, "discard", NULL, "with --force: replace a filter even if keys are lost",             \
           OPTIONS_FLAG(request, field))

#define LOST_KEYS_REMEDY "write to another file; --force --discard would lose its keys"

struct lost_keys {
    const char *dest;
    const char *path;               /* whose keys the new filter has */
    const bloomfile_filter *source; /* open; NULL: some keys may be missing */
    bool force, discard;
};

/* Ends the program if the file `dest` must not be replaced. Replacing needs --force and, unless
 * --discard is given, a file that
 *   - has no keys and is not live, or
 *   - is the source itself, or
 *   - is an earlier result of the same command: it is sealed, has no more keys than the source, and
 *     the source, or a fold or projection of it, has all its set bits, not by chance.
 * Call it after destination_check(dest, true). */
void lost_keys_check(const struct lost_keys *l);

/* Whether replacing the file could lose keys. A filter that cannot be opened counts as having keys.
 * So does a live filter, because keys may still be added. */
bool lost_keys_are_in(const char *path);

bool lost_keys_is_live(const char *path);

#endif
