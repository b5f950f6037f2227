/* SPDX-License-Identifier: MIT
 * Kinds of keys: the kind that a filter records, and the kind of the keys being read. */
#ifndef TOOLS_FILTERS_KEY_KIND_H
#define TOOLS_FILTERS_KEY_KIND_H

#include "keys/keys.h"

#include <bloomfile_inspect.h>

enum {
    KEY_KIND_ROOM = 32, /* for key_kind_text() */
    KEY_KIND_WHY = 400
};

enum key_kind_use {
    KEY_KIND_LOOK_UP, /* look up or remove */
    KEY_KIND_ADD
};

/* The name of the recorded kind: "text", "lower", "integers", "fixed", "bytes" or "unknown", as in
 * section 6 of format-spec.md. "newer" if this version does not know the kind. */
const char *key_kind_name(const struct bloomfile_info *info);

/* The name with the key size: "fixed 16". Returns text. */
char *key_kind_text(char text[KEY_KIND_ROOM], const struct bloomfile_info *info);

/* Whether the filter holds lowercase keys, so that the keys read must be folded. */
bool key_kind_folds(const bloomfile_filter *f, const struct keys_options *keys);

/* Turns on folding if the filter holds lowercase keys. */
void key_kind_fold(const bloomfile_filter *f, struct keys_options *keys);

/* Records the kind of the keys in the parameters of a new filter. */
void key_kind_record(struct bloomfile_params *params, const struct keys_options *keys);

/* Returns true if the filter does not accept these keys, by bloomfile_check_keys(). Then `why` has
 * the reason, which begins with "holds". keys->as_is accepts all keys, unless the filter's kind is
 * unknown to this version. */
bool key_kind_explain(const bloomfile_filter *f, const struct keys_options *keys,
                      enum key_kind_use use, char why[KEY_KIND_WHY]);

/* Ends the program if the filter does not accept these keys. A filter that is open for writing must
 * be closed before the program ends: use key_kind_explain() for it. */
void key_kind_check(const char *path, const bloomfile_filter *f, const struct keys_options *keys,
                    enum key_kind_use use);

#endif
