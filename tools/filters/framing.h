/* SPDX-License-Identifier: MIT
 *
 * Key delimiters: those that a filter records, and those of the keys being read.
 */
#ifndef TOOLS_FILTERS_FRAMING_H
#define TOOLS_FILTERS_FRAMING_H

#include "keys/keys.h"

enum {
    FRAMING_ROOM = 32, /* for framing_text() */
    FRAMING_WHY = 300
};

enum framing_use {
    FRAMING_LOOK_UP, /* or remove */
    FRAMING_ADD
};

/* "lines", "lines-crlf", "null", "fixed 16" or "unknown", as in format-spec.md, section 6. Returns
 * text. */
char *framing_text(char *text, size_t size, uint32_t framing, uint32_t framing_size);

/* Has a filter that is to be made record it. */
void framing_record(struct bloomfile_params *params, const struct keys_options *keys);

/* Whether the filter records keys of another kind than these, unless keys->as_is. All text has one
 * kind: its delimiter is not part of a key. Fields fit every filter. Then `why` begins with
 * "holds".
 */
bool framing_explain(const bloomfile_filter *f, const struct keys_options *keys,
                     enum framing_use use, char why[FRAMING_WHY]);

/* Ends the program if it does. A filter that is open for writing must be closed before: use
 * framing_explain(). */
void framing_check(const char *path, const bloomfile_filter *f, const struct keys_options *keys,
                   enum framing_use use);

/* Warns if the filters record keys of different kinds. Returns whether they do. */
bool framing_compare_filters(const char *path, const bloomfile_filter *f, const char *other_path,
                             const bloomfile_filter *other);

#endif
