/* SPDX-License-Identifier: MIT */
#include "framing.h"

#include <bloomfile.h>
#include <inttypes.h>
#include <stdio.h>

char *framing_text(char *text, size_t size, uint32_t framing, uint32_t framing_size)
{
    static const char *const names[] = { [BLOOMFILE_FRAMING_UNKNOWN] = "unknown",
                                         [BLOOMFILE_LINES] = "lines",
                                         [BLOOMFILE_LINES_CRLF] = "lines-crlf",
                                         [BLOOMFILE_NULL] = "null" };
    if (framing == BLOOMFILE_FIXED)
        snprintf(text, size, "fixed %" PRIu32, framing_size);
    else if (framing < sizeof(names) / sizeof(names[0]))
        snprintf(text, size, "%s", names[framing]);
    else
        snprintf(text, size, "unknown");
    return text;
}
