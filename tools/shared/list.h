/* SPDX-License-Identifier: MIT
 *
 * A list of keys in memory that is searched by content.
 */
#ifndef BLOOMFILE_TOOLS_LIST_H
#define BLOOMFILE_TOOLS_LIST_H

#include "shared/keys.h"

struct list;

/* The keys of a file ("-": standard input), whole ones, are added to `list`; NULL starts one.
 * Returns it. Ends the program by cli_fail if the file cannot be read, or for lack of memory. */
struct list *list_read(struct list *list, const struct keys_options *options, char *path);

/* Whether it has exactly this key. An empty list may be NULL. */
bool list_has(const struct list *list, const struct bloomfile_key *key);

void list_free(struct list *list);

#endif
