/* SPDX-License-Identifier: MIT
 *
 * Whether an input looks like something else than keys.
 */
#ifndef BLOOMFILE_TOOLS_KIND_H
#define BLOOMFILE_TOOLS_KIND_H

#include "shared/keys_options.h"

#include <stdint.h>

enum {
    KIND_SIZE = 1 << 16, /* more bytes than these are not looked at */
    KIND_REASON = 160
};

/* Whether these bytes are the first ones of a filter file. */
bool kind_is_filter(const uint8_t *bytes, size_t size);

/* Whether they are those of a patch, however few there are: nobody but bfdelta writes them. */
bool kind_is_patch(const uint8_t *bytes, size_t size);

/* Warns, unless options->as_is, if the bytes that an input begins with are those of a packed file
 * or of wide characters, if all lines there end in a carriage return that is to be part of the
 * keys, if lines have zero bytes, or text has newlines where a zero byte should be, or by
 * columns_judge(). They are a whole key, all of the input, or KIND_SIZE: a key's end may come
 * later otherwise. false: they cannot be keys, and why is in reason: a filter, a patch; and
 * with options->packed, what is still packed. */
bool kind_judge(const char *name, const struct keys_options *options, const uint8_t *bytes,
                size_t size, char reason[KIND_REASON]);

#endif
