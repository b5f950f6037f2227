/* SPDX-License-Identifier: MIT */
#include <bloomfile.h>
#include <string.h>

#define STRING_(x) #x
#define STRING(x)  STRING_(x)

#define ROW_TEXT(name, value, text)                                                                \
    case name:                                                                                     \
        return text;
#define ROW_NAME(name, value, text)                                                                \
    case name:                                                                                     \
        return #name;

const char *bloomfile_strerror(int error)
{
    if (error == 0)
        return "no error";
    switch (error) {
        BLOOMFILE_ERRORS(ROW_TEXT)
    }
#ifdef __GLIBC__
    const char *text = error > 0 ? strerrordesc_np(error) : NULL;
#else
    const char *text = error > 0 ? strerror(error) : NULL;
#endif
    return text != NULL ? text : "unknown error";
}

const char *bloomfile_errname(int error)
{
    if (error == 0)
        return "OK";
    switch (error) {
        BLOOMFILE_ERRORS(ROW_NAME)
    }
    const char *name = NULL;
#ifdef __GLIBC__
    if (error > 0)
        name = strerrorname_np(error);
#endif
    return name != NULL ? name : "UNKNOWN";
}

const char *bloomfile_version(void)
{
    return STRING(BLOOMFILE_VERSION_MAJOR) "." STRING(BLOOMFILE_VERSION_MINOR) "." STRING(
        BLOOMFILE_VERSION_PATCH);
}
