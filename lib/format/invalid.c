/* SPDX-License-Identifier: MIT
 * The name of the last invalid argument. */
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
