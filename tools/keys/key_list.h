/* SPDX-License-Identifier: MIT
 *
 * A list of keys in memory that is searched by content.
 */
#ifndef TOOLS_KEYS_KEY_LIST_H
#define TOOLS_KEYS_KEY_LIST_H

#include "keys/keys.h"

struct key_list;

/* The keys of a file ("-": standard input), whole ones, are added to `list`; NULL starts one.
 * Returns it. Ends the program by cli_fail if the file cannot be read, or for lack of memory. */
struct key_list *key_list_read(struct key_list *list, const struct keys_options *options,
                               char *path);

/* Whether it has exactly this key. An empty list may be NULL. */
bool key_list_has(const struct key_list *list, const struct bloomfile_key *key);

void key_list_free(struct key_list *list);

#endif
