/* SPDX-License-Identifier: MIT
 *
 * Kinds of keys: the one that a filter records, and the one of the keys being read.
 */
#ifndef TOOLS_FILTERS_KEY_KIND_H
#define TOOLS_FILTERS_KEY_KIND_H

#include "keys/keys.h"

#include <bloomfile_inspect.h>

enum {
    KEY_KIND_ROOM = 32, /* for key_kind_text() */
    KEY_KIND_WHY = 400
};

enum key_kind_use {
    KEY_KIND_LOOK_UP, /* or remove */
    KEY_KIND_ADD
};

/* "text", "lower", "integers", "fixed", "bytes" or "unknown", as in format-spec.md, section 6;
 * "newer" if this version does not know it. */
const char *key_kind_name(const struct bloomfile_info *info);

/* The same with the size: "fixed 16". Returns text. */
char *key_kind_text(char text[KEY_KIND_ROOM], const struct bloomfile_info *info);

/* Whether the filter holds lower-case keys, so that the keys read must be folded. */
bool key_kind_folds(const bloomfile_filter *f, const struct keys_options *keys);

/* Turns on folding if it does. */
void key_kind_fold(const bloomfile_filter *f, struct keys_options *keys);

/* Records the kind of the keys in the parameters of a new filter. */
void key_kind_record(struct bloomfile_params *params, const struct keys_options *keys);

/* Whether the filter does not accept these keys (bloomfile_keys_fit()), or holds byte strings and
 * these are text. keys->as_is accepts all
 * keys, unless this version does not know the filter's kind. Then `why` begins with "holds". */
bool key_kind_explain(const bloomfile_filter *f, const struct keys_options *keys,
                      enum key_kind_use use, char why[KEY_KIND_WHY]);

/* Ends the program if it does not. A filter that is open for writing must be closed before: use
 * key_kind_explain(). */
void key_kind_check(const char *path, const bloomfile_filter *f, const struct keys_options *keys,
                    enum key_kind_use use);

#endif
