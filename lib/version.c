/* SPDX-License-Identifier: MIT
 * The version. scripts/same-code does not compare this file, so nothing else belongs here. */
#include <bloomfile.h>

const char *bloomfile_version(void)
{
    return BLOOMFILE_VERSION_STRING;
}
