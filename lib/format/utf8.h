/* SPDX-License-Identifier: MIT
 * UTF-8 in labels. */
#ifndef BLOOMFILE_UTF8_H
#define BLOOMFILE_UTF8_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Well-formed UTF-8 (RFC 3629) without control characters (U+0000-001F, U+007F-009F). */
bool utf8_is_clean(const uint8_t *text, size_t size);

#endif
