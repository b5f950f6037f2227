/* SPDX-License-Identifier: MIT
 *
 * Detection of a wrong field delimiter, by the look of an input's fields.
 */
#ifndef TOOLS_KEYS_DELIMITER_CHECK_H
#define TOOLS_KEYS_DELIMITER_CHECK_H

#include "keys/keys_options.h"

#include <stddef.h>
#include <stdint.h>

/* Warns, of the lines that an input begins with, if none has the delimiter but some have another
 * one, and keys come of them all the same; and if quotes become a part of keys. */
void delimiter_check_warn(const char *name, const struct keys_options *options,
                          const uint8_t *bytes, size_t size);

#endif
