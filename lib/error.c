/* SPDX-License-Identifier: MIT
 * Names and texts of errors. */
#include <bloomfile.h>
#include <errno.h>
#include <string.h>

#define STRING_(x) #x
#define STRING(x)  STRING_(x)

#define ROW_TEXT(name, value, text)                                                                \
    case name:                                                                                     \
        return text;
#define ROW_NAME(name, value, text)                                                                \
    case name:                                                                                     \
        return #name;

#ifdef __GLIBC__
static const char *system_name(int error)
{
    return strerrorname_np(error);
}
#else
/* Other C libraries have no names for errnos; these are the ones that bloomfile's calls return. */
#define SYSTEM_ERRORS(X)                                                                           \
    X(E2BIG)                                                                                       \
    X(EACCES)                                                                                      \
    X(EAGAIN)                                                                                      \
    X(EBADF)                                                                                       \
    X(EBUSY)                                                                                       \
    X(EDEADLK)                                                                                     \
    X(EDQUOT)                                                                                      \
    X(EEXIST)                                                                                      \
    X(EFAULT)                                                                                      \
    X(EFBIG)                                                                                       \
    X(EILSEQ)                                                                                      \
    X(EINTR)                                                                                       \
    X(EINVAL)                                                                                      \
    X(EIO)                                                                                         \
    X(EISDIR)                                                                                      \
    X(ELOOP)                                                                                       \
    X(EMFILE)                                                                                      \
    X(EMLINK)                                                                                      \
    X(ENAMETOOLONG)                                                                                \
    X(ENFILE)                                                                                      \
    X(ENODEV)                                                                                      \
    X(ENOENT)                                                                                      \
    X(ENOLCK)                                                                                      \
    X(ENOMEM)                                                                                      \
    X(ENOSPC)                                                                                      \
    X(ENOSYS)                                                                                      \
    X(ENOTDIR)                                                                                     \
    X(ENOTEMPTY)                                                                                   \
    X(ENOTSUP)                                                                                     \
    X(ENOTTY)                                                                                      \
    X(ENXIO)                                                                                       \
    X(EOVERFLOW)                                                                                   \
    X(EPERM)                                                                                       \
    X(EPIPE)                                                                                       \
    X(EPROTO)                                                                                      \
    X(ERANGE)                                                                                      \
    X(EROFS)                                                                                       \
    X(ESPIPE)                                                                                      \
    X(ESRCH)                                                                                       \
    X(ESTALE)                                                                                      \
    X(ETIMEDOUT)                                                                                   \
    X(ETXTBSY)                                                                                     \
    X(EXDEV)

#define SYSTEM_NAME(name)                                                                          \
    case name:                                                                                     \
        return #name;

static const char *system_name(int error)
{
    switch (error) {
        SYSTEM_ERRORS(SYSTEM_NAME)
    default:
        return NULL;
    }
}
#endif

const char *bloomfile_strerror(int error)
{
    if (error == 0)
        return "no error";
    switch (error) {
        BLOOMFILE_ERRORS(ROW_TEXT)
    }
    if (error <= 0 || system_name(error) == NULL)
        return "unknown error";
#ifdef __GLIBC__
    return strerrordesc_np(error);
#else
    return strerror(error);
#endif
}

const char *bloomfile_errname(int error)
{
    if (error == 0)
        return "OK";
    switch (error) {
        BLOOMFILE_ERRORS(ROW_NAME)
    }
    const char *name = error > 0 ? system_name(error) : NULL;
    return name != NULL ? name : "UNKNOWN";
}

const char *bloomfile_version(void)
{
    return STRING(BLOOMFILE_VERSION_MAJOR) "." STRING(BLOOMFILE_VERSION_MINOR) "." STRING(
        BLOOMFILE_VERSION_PATCH);
}
