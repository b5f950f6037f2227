/* SPDX-License-Identifier: MIT */
#include "report.h"

#include <bloomfile.h>

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>

int report(const struct reporter *r, int error, const char *format, ...)
{
    char message[2 * PATH_MAX + 512];
    va_list arguments;
    va_start(arguments, format);
    const int length = vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (error != 0 && length >= 0 && (size_t)length < sizeof message)
        snprintf(message + length, sizeof message - (size_t)length, ": %s",
                 bloomfile_strerror(error));
    r->say(r->context, message);
    return error;
}
