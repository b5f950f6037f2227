/* SPDX-License-Identifier: MIT
 *
 * How keys were cut out of an input: what a filter records of it, and what is asked for now.
 */
#ifndef BLOOMFILE_TOOLS_FRAMING_H
#define BLOOMFILE_TOOLS_FRAMING_H

#include "shared/keys.h"

enum {
    FRAMING_ROOM = 32 /* for framing_text() */
};

/* "lines", "lines-crlf", "null", "fixed 16" or "unknown", as in format-spec.md, section 4. Returns
 * text. */
char *framing_text(char *text, size_t size, uint32_t framing, uint32_t framing_size);

/* Has a filter that is to be made record it. */
void framing_record(struct bloomfile_params *params, const struct keys_options *keys);

/* Warns if the filter records another one than these keys have. */
void framing_compare(const char *path, const bloomfile *f, const struct keys_options *keys);

/* Warns if the filters record different ones, and tells whether they do. */
bool framing_compare_filters(const char *path, const bloomfile *f, const char *other_path,
                             const bloomfile *other);

#endif
