/* SPDX-License-Identifier: MIT
 * A list of keys in memory that is searched by content. */
#ifndef TOOLS_KEYS_KEY_LIST_H
#define TOOLS_KEYS_KEY_LIST_H

#include "keys/keys.h"

struct key_list;

/* Adds the keys of a file ("-": standard input) to `list`; NULL starts a new list. Records are
 * whole keys, not fields. Returns the list. Ends the program through cli_fail() if the file cannot
 * be read or memory runs out. */
struct key_list *key_list_read(struct key_list *list, const struct keys_options *options,
                               char *path);

/* Creates an empty list; adds a key and returns its place, which does not change. */
struct key_list *key_list_new(void);
size_t key_list_add(struct key_list *list, const struct bloomfile_key *key);

/* Marks a key, if the list contains it; returns whether the key at a place is marked. */
void key_list_mark(struct key_list *list, const struct bloomfile_key *key);
bool key_list_is_marked(const struct key_list *list, size_t key);

/* The number of bytes in use. */
uint64_t key_list_bytes(const struct key_list *list);

/* Removes all keys. */
void key_list_clear(struct key_list *list);

/* Whether the list has exactly this key. `list` may be NULL, for an empty list. */
bool key_list_has(const struct key_list *list, const struct bloomfile_key *key);

void key_list_free(struct key_list *list);

#endif
