/* SPDX-License-Identifier: MIT
 * The text of a verdict and of the advice below it. */
#include "bfinspect/verdict.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void verdict_add(struct inspect_report *r, const char *format, ...)
{
    size_t used = strlen(r->verdict);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(r->verdict + used, sizeof(r->verdict) - used, format, arguments);
    va_end(arguments);
}

void verdict_advise(struct inspect_report *r, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(r->advice, sizeof(r->advice), format, arguments);
    va_end(arguments);
}
