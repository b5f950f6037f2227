/* SPDX-License-Identifier: MIT
 * Invalid arguments, and the name of the last one. */
#include "format/invalid.h"

static _Thread_local const char *last = "";

int invalid(int error, const char *name)
{
    last = name;
    return error;
}

const char *invalid_name(void)
{
    return last;
}
