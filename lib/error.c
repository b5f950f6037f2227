/* SPDX-License-Identifier: MIT
 * Names, texts and kinds of errors. */
#include <bloomfile.h>
#include <errno.h>
#include <locale.h>
#include <string.h>

#include "format/invalid.h"

/* Names and texts. The compiler warns if a member of enum bloomfile_error lacks a row. */
#define ERRORS(X)                                                                                  \
    X(EFILESYSTEM, "a live filter cannot be shared on this file system")                           \
    X(ENOBOOT, "the current boot cannot be identified (no boot_id in /proc)")                      \
    X(EEMPTY, "the file is empty")                                                                 \
    X(ETEXTMODE, "damaged by a text-mode transfer (line ends were changed)")                       \
    X(EFORM, "the header size is neither 512 nor 4096")                                            \
    X(EHEADER, "the header is damaged (checksum mismatch)")                                        \
    X(EHASHCOUNT, "the number of hashes k is out of range (1 to 64)")                              \
    X(EBITS, "the number of bits m is out of range for the layout")                                \
    X(EOFFSET, "the body's offset or size does not follow from m")                                 \
    X(ECAPACITY, "the capacity is out of range (at least 1)")                                      \
    X(ERATE, "the false-positive rate is out of range (0 < rate < 1)")                             \
    X(EUNFOLDED, "the size before folding is not a multiple of m")                                 \
    X(ELABEL, "the label is not clean UTF-8 of at most 112 bytes")                                 \
    X(ESLICE, "the header of the slice contradicts itself")                                        \
    X(ETRUNCATED, "the file is truncated")                                                         \
    X(ETRAILING, "the file has extra bytes at the end")                                            \
    X(ERECORD, "a commit record is damaged")                                                       \
    X(ESTATE, "a commit record contradicts its state")                                             \
    X(EPAGE, "a page of the body is damaged (checksum mismatch)")                                  \
    X(EBODY, "the body contradicts the header (checksum, count or padding)")                       \
    X(EMISSINGLAYER, "a layer of the series is missing")                                           \
    X(EPATCH, "not a filter patch, or damaged")                                                    \
    X(ENOTCOMPACT, "not a compact filter, damaged, or made with another seed")                     \
    X(EMAGIC, "not a filter file")                                                                 \
    X(ENOTREGULAR, "not a regular file")                                                           \
    X(EHASH, "its hash function is unknown, or an application's own")                              \
    X(ESELFTEST, "this build hashes differently from the writer")                                  \
    X(ESERIES, "a layer does not fit into its series")                                             \
    X(EDIFFERENTLAYOUT, "the layouts differ")                                                      \
    X(EDIFFERENTHASH, "the hash functions differ")                                                 \
    X(EDIFFERENTHASHCOUNT, "the numbers of hashes k differ")                                       \
    X(EDIFFERENTSEED, "the seeds differ")                                                          \
    X(EDIFFERENTBITS, "the numbers of bits m differ")                                              \
    X(EDIFFERENTFORM, "one is a file, the other an embedded image")                                \
    X(EDIFFERENTBASE, "the patch was made for another filter")                                     \
    X(EINCOMPLETE, "the slices are not all of one filter, or not of the same keys")                \
    X(EDIFFERENTTAG, "the tag is not the expected one")                                            \
    X(EKEYKIND, "its keys are of another kind")                                                    \
    X(EVERSION, "written in a newer format version")                                               \
    X(EFEATURE, "needs a feature this version does not know")                                      \
    X(ELAYOUT, "unknown layout")                                                                   \
    X(EPOISONED, "poisoned: a write to disk failed or damage was found")                           \
    X(ELIVE, "live, without checksums (seal it first: bfseal)")                                    \
    X(ESEALED, "sealed: it can no longer be changed")                                              \
    X(EUNCLEAN, "the machine crashed, or a writer was killed during a sync")                       \
    X(EREPLACED, "replaced or removed while it was in use")                                        \
    X(ECHANGED, "overwritten while it was open")                                                   \
    X(ESTRUCTSIZE, "unknown struct_size: initialise the struct with its _INIT")                    \
    X(EFLAGS, "unknown or contradictory flags")                                                    \
    X(EVALUE, "invalid value of a parameter")                                                      \
    X(EREADONLY, "not opened for writing")                                                         \
    X(ENOTCOUNTING, "not of the counting layout")                                                  \
    X(EISCOUNTING, "counting filters cannot be intersected")                                       \
    X(EISSERIES, "a series of layers, where one filter is needed")                                 \
    X(EISSLICE, "a slice, where a whole filter is needed")                                         \
    X(EISRIBBON, "a ribbon filter cannot be changed, folded, merged or patched")                   \
    X(EABSENT, "the key is certainly not in the filter")                                           \
    X(EFACTOR, "the factor does not divide the number of blocks, or bits")                         \
    X(EFULL, "over capacity")                                                                      \
    X(EOVERRATE, "the result's false-positive rate would pass the limit")                          \
    X(EUNREACHABLE, "no size reaches this false-positive rate for so many keys")                   \
    X(ETOOBIG, "the filter is too big for this machine's address space")

#define ROW_TEXT(name, text)                                                                       \
    case BLOOMFILE_##name:                                                                         \
        return text;
#define ROW_NAME(name, text)                                                                       \
    case BLOOMFILE_##name:                                                                         \
        return "BLOOMFILE_" #name;

/* Names of errnos. glibc has a function for them from 2.32 on only. */
#define NAMES(a, b, c, d, e, f, g, h, i, j)                                                        \
    [a] = #a, [b] = #b, [c] = #c, [d] = #d, [e] = #e, [f] = #f, [g] = #g, [h] = #h, [i] = #i,      \
    [j] = #j
static const char *const system_names[] = {
    NAMES(EPERM, ENOENT, ESRCH, EINTR, EIO, ENXIO, E2BIG, ENOEXEC, EBADF, ECHILD),
    NAMES(EAGAIN, ENOMEM, EACCES, EFAULT, ENOTBLK, EBUSY, EEXIST, EXDEV, ENODEV, ENOTDIR),
    NAMES(EISDIR, EINVAL, ENFILE, EMFILE, ENOTTY, ETXTBSY, EFBIG, ENOSPC, ESPIPE, EROFS),
    NAMES(EMLINK, EPIPE, EDOM, ERANGE, EDEADLK, ENAMETOOLONG, ENOLCK, ENOSYS, ENOTEMPTY, ELOOP),
    NAMES(ENOMSG, EIDRM, ECHRNG, EL2NSYNC, EL3HLT, EL3RST, ELNRNG, EUNATCH, ENOCSI, EL2HLT),
    NAMES(EBADE, EBADR, EXFULL, ENOANO, EBADRQC, EBADSLT, EBFONT, ENOSTR, ENODATA, ETIME),
    NAMES(ENOSR, ENONET, ENOPKG, EREMOTE, ENOLINK, EADV, ESRMNT, ECOMM, EPROTO, EMULTIHOP),
    NAMES(EDOTDOT, EBADMSG, EOVERFLOW, ENOTUNIQ, EBADFD, EREMCHG, ELIBACC, ELIBBAD, ELIBSCN,
          ELIBMAX),
    NAMES(ELIBEXEC, EILSEQ, ERESTART, ESTRPIPE, EUSERS, ENOTSOCK, EDESTADDRREQ, EMSGSIZE,
          EPROTOTYPE, ENOPROTOOPT),
    NAMES(EPROTONOSUPPORT, ESOCKTNOSUPPORT, EOPNOTSUPP, EPFNOSUPPORT, EAFNOSUPPORT, EADDRINUSE,
          EADDRNOTAVAIL, ENETDOWN, ENETUNREACH, ENETRESET),
    NAMES(ECONNABORTED, ECONNRESET, ENOBUFS, EISCONN, ENOTCONN, ESHUTDOWN, ETOOMANYREFS, ETIMEDOUT,
          ECONNREFUSED, EHOSTDOWN),
    NAMES(EHOSTUNREACH, EALREADY, EINPROGRESS, ESTALE, EUCLEAN, ENOTNAM, ENAVAIL, EISNAM, EREMOTEIO,
          EDQUOT),
    NAMES(ENOMEDIUM, EMEDIUMTYPE, ECANCELED, ENOKEY, EKEYEXPIRED, EKEYREVOKED, EKEYREJECTED,
          EOWNERDEAD, ENOTRECOVERABLE, ERFKILL),
    [EHWPOISON] = "EHWPOISON",
};

static const char *system_name(int error)
{
    return error < (int)(sizeof system_names / sizeof system_names[0]) ? system_names[error] : NULL;
}

const char *bloomfile_strerror(int error)
{
    if (error == 0)
        return "no error";
    switch ((enum bloomfile_error)error) {
        ERRORS(ROW_TEXT)
    }
    if (error <= 0 || system_name(error) == NULL)
        return "unknown error";
    /* Not strerror(): its text is translated, and its buffer is shared by threads. newlocale()
     * returns a static locale for "C". */
    return strerror_l(error, newlocale(LC_ALL_MASK, "C", (locale_t)0));
}

const char *bloomfile_errname(int error)
{
    if (error == 0)
        return "OK";
    switch ((enum bloomfile_error)error) {
        ERRORS(ROW_NAME)
    }
    const char *name = error > 0 ? system_name(error) : NULL;
    return name != NULL ? name : "UNKNOWN";
}

int bloomfile_error_kind(int error)
{
    if (error >= 0)
        return error == 0       ? BLOOMFILE_KIND_NONE
               : error == EBUSY ? BLOOMFILE_KIND_STATE
                                : BLOOMFILE_KIND_SYSTEM;
    return error > -1800 && error <= -1100 ? -error / 100 % 10 : BLOOMFILE_KIND_SYSTEM;
}

const char *bloomfile_invalid(void)
{
    return invalid_name();
}
