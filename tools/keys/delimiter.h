/* SPDX-License-Identifier: MIT
 * Detecting a wrong field delimiter. */
#ifndef TOOLS_KEYS_DELIMITER_H
#define TOOLS_KEYS_DELIMITER_H

#include <stddef.h>
#include <stdint.h>

#include "keys/keys_options.h"

/* Examines the first lines of an input. Warns if no line has the delimiter, some have another
 * likely delimiter, and the lines would still give keys. Warns if quotes become part of keys. */
void delimiter_check_warn(const char *name, const struct keys_options *options,
                          const uint8_t *bytes, size_t size);

#endif
