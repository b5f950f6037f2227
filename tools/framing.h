/* SPDX-License-Identifier: MIT
 * How keys were cut out of an input, in words. */
#ifndef BLOOMFILE_TOOLS_FRAMING_H
#define BLOOMFILE_TOOLS_FRAMING_H

#include <stddef.h>
#include <stdint.h>

enum {
    FRAMING_ROOM = 32 /* for framing_text() */
};

/* "lines", "lines-crlf", "null", "fixed 16" or "unknown", as in format-spec.md, section 4. Returns
 * text. */
char *framing_text(char *text, size_t size, uint32_t framing, uint32_t framing_size);

#endif
